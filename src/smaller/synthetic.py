from .data.synthetic import *  # noqa: F403
from .data.synthetic import __all__, __doc__  # noqa: F401
