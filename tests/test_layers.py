"""Imports point one way: a module may use the layers before its own, never those after, nor its neighbours."""

import ast
from pathlib import Path

import pytest

import smaller

# From the ground up. A name is a module or a sub-package of smaller; a new one gets its place here.
LAYERS = [
    {"_version", "_sklearn", "errors", "atomic", "progress"},
    {"_core"},
    {"design"},
    {"basis"},
    {"likelihoods", "priors"},
    {"objective"},
    {"rows"},
    {"solvers"},
    {"models"},
    {"tuning"},
    {"decision", "bounds", "export", "data", "inference"},
    {"persist"},
    {"plots", "report"},
    {"cli"},
    {"__main__"},
    {"moves", "datasets", "synthetic", "tables"},  # one-line re-exports of documented paths
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

PACKAGE = Path(smaller.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def imported_parts(source, module):
    """The parts of smaller that a module imports, at its top or inside a function.

    `module` is the path in the package, as in solvers/smooth.py. The front door, smaller/__init__.py, counts as the
    part "".
    """
    parents = ["smaller", *Path(module).parent.parts]
    parts = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = parents[: len(parents) - node.level + 1] if node.level else []
            origin = ".".join([*origin, *filter(None, [node.module])])
            dotted = [f"{origin}.{alias.name}" for alias in node.names]
        else:
            continue
        for root, *rest in (name.split(".") for name in dotted):
            if root == "smaller":
                parts.add(rest[0] if rest and rest[0] in RANK else "")
    return parts


def wrong_way(source, module):
    """The imports that point up, or sideways; none in a sound module."""
    part = Path(module).parts[0].removesuffix(".py")
    return sorted(other for other in imported_parts(source, module) - {part} if RANK.get(other, 99) >= RANK[part])


@pytest.mark.parametrize("module", [m for m in MODULES if m.parts[0] != "__init__.py"], ids=Path.as_posix)
def test_imports_point_one_way(module):
    part = module.parts[0].removesuffix(".py")
    assert part in RANK, f"{part} has no layer yet; give it one in LAYERS"
    assert wrong_way((PACKAGE / module).read_text(encoding="utf-8"), module) == []


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        ("solvers/smooth.py", "from smaller.objective.posterior import Posterior", []),
        ("solvers/smooth.py", "from smaller.solvers.solution import Solution", []),
        ("solvers/l1/newton.py", "from ..smooth import step\nfrom ...objective.posterior import Posterior", []),
        ("solvers/l1/newton.py", "from ...models.base import Classifier", ["models"]),
        ("solvers/l1/newton.py", "def f():\n    import smaller.cli", ["cli"]),
        ("priors/l1.py", "from smaller import likelihoods", ["likelihoods"]),
        ("persist/reading.py", "from .._version import __version__", []),
        ("persist/reading.py", "from .. import __version__", [""]),
        ("persist/reading.py", "from smaller import SMLR", [""]),
        ("basis/__init__.py", "import numpy as np\nimport smaller.design.dense", []),
    ],
)
def test_the_check_sees_what_it_should(module, source, expected):
    assert wrong_way(source, module) == expected
