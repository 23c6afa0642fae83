"""All commands: each module adds its own to the application, in the order in which the help shows them."""

from . import describing, fitting, explaining, selecting, studies, exporting, samples  # isort: skip
from .application import app

__all__ = ["app", "describing", "explaining", "exporting", "fitting", "samples", "selecting", "studies"]
