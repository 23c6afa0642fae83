"""The shape of the package: imports point one way, few modules lie at the root, and one name means one thing.

A module may use the layers before its own, never those after it nor its neighbours.
"""

import ast
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import smaller

# From the ground up. A name is a module or a room (a sub-package) of smaller; a new one gets its place here.
# CONTRIBUTING.md shows the same list.
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
    {"moves", "datasets", "synthetic", "tables"},  # RE_EXPORTS
]
RE_EXPORTS = {"moves", "datasets", "synthetic", "tables"}  # documented paths of modules that lie in a room
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

PACKAGE = Path(smaller.__file__).parent
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
CONTRIBUTING = Path(__file__).parent.parent / "CONTRIBUTING.md"

# Public or module-level names of classes and functions that two modules define, and why.
DEFINED_TWICE = {
    "Columns": "smaller.tables.Columns is public; objective.evidence has the weighted columns of a design",
    "Fit": "objective.posterior and objective.evidence each have the state at one point",
    "Moments": "design.Moments of the columns; rows.dask.block_moments adds the sums by class and the drawn rows",
    "Moves": "the struct that the boosted lasso kernel fills, and the protocol of what the solver moves on",
    "Point": "objective.posterior has the objective at some weights, solvers.type1.unit_objective its own state",
    "State": "the local state of a kernel and of two solvers, never imported elsewhere",
    "choose": "smaller.bounds.choose is public; errors.choose checks the value of an option everywhere",
    "componentwise": "the kernel of one sweep, and the solver that calls it",
    "em": "two EM algorithms, each the only one of its file, called through its module's table",
    "fast": "the sequential algorithm for a Gaussian and for a Laplace evidence, called through tables",
    "settled": "the stopping rules of three solvers, each local to its file",
    "solution": "the Solution of the two sequential algorithms, each local to its file",
}


def imported_names(tree, module):
    """Dotted names that a module or a part of it imports; `module` is a path in the package: solvers/smooth.py."""
    parents = ["smaller", *Path(module).parent.parts]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = parents[: len(parents) - node.level + 1] if node.level else []
            origin = ".".join([*origin, *filter(None, [node.module])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def imported_parts(source, module):
    """The parts of smaller that a module imports, at its top or inside a function.

    The front door, smaller/__init__.py, counts as the part "".
    """
    parts = set()
    for root, *rest in (name.split(".") for name in imported_names(ast.parse(source), module)):
        if root == "smaller":
            parts.add(rest[0] if rest and rest[0] in RANK else "")
    return parts


def module_of(dotted):
    """The module that a dotted name lies in: smaller.design.dense.DenseDesign in design/dense.py."""
    parts = dotted.split(".")[1:]
    while parts:
        for path in (Path(*parts).with_suffix(".py"), Path(*parts, "__init__.py")):
            if (PACKAGE / path).is_file():
                return path
        parts.pop()
    return Path("__init__.py")


def imports_on_loading(source, module):
    """The modules of smaller that must be loaded before this one: imports inside functions do not count."""
    tree = ast.parse(source)
    top = [node for node in tree.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
    names = imported_names(ast.Module(top, []), module)
    return {module_of(name) for name in names if name.split(".")[0] == "smaller"} - {Path(module)}


def definitions():
    """Every public class and function at the level of a module, with the modules that define it."""
    found = defaultdict(list)
    for module in MODULES:
        for node in ast.parse((PACKAGE / module).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module.as_posix())
    return found


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


def test_no_modules_import_each_other_in_a_cycle():
    graph = {m: imports_on_loading((PACKAGE / m).read_text(encoding="utf-8"), m) for m in MODULES}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(map(str, error.args[1])))


@pytest.mark.parametrize(
    ("module", "source", "expected"),
    [
        (
            "design/dense.py",
            "from .protocol import Design\nfrom .. import _core",
            {"design/protocol.py", "_core/__init__.py"},
        ),
        ("decision/costs.py", "from . import checks", {"decision/checks.py"}),
        ("design/tensors.py", "from . import host", {"design/__init__.py"}),
        ("design/tensors.py", "def f():\n    from . import host", set()),
        ("design/tensors.py", "import numpy as np", set()),
    ],
)
def test_the_check_for_cycles_sees_what_it_should(module, source, expected):
    assert {path.as_posix() for path in imports_on_loading(source, module)} == expected


def test_few_modules_lie_at_the_root():
    assert len({m.stem for m in MODULES if len(m.parts) == 1} - RE_EXPORTS) <= 8


@pytest.mark.parametrize("name", sorted(RE_EXPORTS))
def test_re_exports_of_documented_paths_define_nothing(name):
    body = ast.parse((PACKAGE / f"{name}.py").read_text(encoding="utf-8")).body
    assert all(isinstance(node, ast.ImportFrom | ast.Expr | ast.Assign) for node in body)


def test_a_public_name_is_defined_once():
    assert {name: places for name, places in definitions().items() if len(places) > 1}.keys() == DEFINED_TWICE.keys()


def test_private_names_of_scikit_learn_are_imported_in_one_place():
    private = {
        f"{module.as_posix()}: {name}"
        for module in MODULES
        for name in imported_names(ast.parse((PACKAGE / module).read_text(encoding="utf-8")), module)
        if name.startswith("sklearn.") and any(part.startswith("_") for part in name.split("."))
    }
    assert {each.partition(":")[0] for each in private} == {"_sklearn.py"}, private


def test_the_picture_in_contributing_shows_these_layers():
    """One layer a line, from the top of the package to its ground; two spaces part names and descriptions."""
    text = CONTRIBUTING.read_text(encoding="utf-8").partition("## The layers")[2].partition("\n## ")[0]
    _flow, picture = (block for block in text.split("\n\n") if block.startswith("    "))
    shown = [set(line.strip().partition("  ")[0].split(", ")) for line in picture.splitlines()]
    assert shown == LAYERS[::-1]
