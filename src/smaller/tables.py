from .data.tables import *  # noqa: F403
from .data.tables import __all__, __doc__  # noqa: F401
