"""`python -m purtensor` is the command line."""

import sys

from purtensor.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
