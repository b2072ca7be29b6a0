from .diagnose import diagnose_stored as diagnose_stored
from .project import project_stored as project_stored
from .saved_results import load_stored as load_stored
from .saved_results import save_stored as save_stored
from .verify import verify_stored as verify_stored
