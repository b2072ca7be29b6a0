from .decisions import Decisions as Decisions
from .decisions import decide as decide
from .errors_on_others import errors_on_others as errors_on_others
