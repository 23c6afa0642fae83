"""Sparse Bayesian classification and regression: certified, unit-invariant, honest about uncertainty."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from ._version import __version__

# Where each public name is defined; its module is imported when the name is first used.
_DEFINED_IN = {
    "export": "to_c to_onnx",
    "models.adaptive": "LaplaceRegressor",
    "models.jcfo": "JCFO",
    "models.jeffreys": "JeffreysClassifier JeffreysRegressor",
    "models.kernel_machines": "JFSCL LRVM",
    "models.multinomial": "RMLR SMLR",
    "models.rvm": "RVMClassifier RVMRegressor",
    "models.sbmlr": "SBMLR",
    "models.sparsest": "SparseSolution maximally_sparse",
    "models.type1": "TypeIRegressor",
    "models.type2": "TypeIIRegressor",
    "models.type2_classifier": "TypeIIClassifier",
    "persist": "load save",
    "report": "explain report",
    "tuning.cross_validation": "SMLRCV",
    "tuning.evidence_search": "EvidenceSearch",
    "tuning.kernel_width": "tune_width",
    "tuning.laplace_cross_validation": "LaplaceRegressorCV",
    "tuning.path": "Path path",
    "tuning.relaxed": "refit",
    "tuning.training_path": "laplace_path training_path",
}
_MODULES = {name: module for module, names in _DEFINED_IN.items() for name in names.split()}
_PACKAGES = ("bounds", "decision", "inference")

__all__ = ["__version__", *_PACKAGES, *_MODULES]


def __getattr__(name: str) -> Any:
    """A public name, or a public sub-package, on first use."""
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """The package, in which `report` is the function, also once the sub-package of that name was imported."""

    @property
    def report(self) -> Any:
        """The function `smaller.report.report`."""
        return import_module(".report", __name__).report

    @report.setter
    def report(self, module: ModuleType) -> None:
        """Importing a sub-package sets an attribute of its parent, which here is ignored."""


sys.modules[__name__].__class__ = _Package
