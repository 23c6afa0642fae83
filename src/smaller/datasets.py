from .data.datasets import *  # noqa: F403
from .data.datasets import __all__, __doc__  # noqa: F401
