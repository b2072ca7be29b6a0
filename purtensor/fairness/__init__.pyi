from .decisions import Decisions as Decisions
from .decisions import decide as decide
from .errors_on_others import errors_on_others as errors_on_others
from .rates import accuracy as accuracy
from .rates import log_loss as log_loss
from .rates import rates_by_group as rates_by_group
from .smoothing import Smoothed as Smoothed
from .smoothing import smooth as smooth
