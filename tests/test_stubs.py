"""The stub of the compiled module says what the module takes and gives."""

import ast
import inspect
import re
from pathlib import Path

import pytest

from smaller import _core
from smaller._core import reference

STUB = ast.parse((Path(_core.__file__).parent / "compiled.pyi").read_text(encoding="utf-8"))
FUNCTIONS = [node for node in STUB.body if isinstance(node, ast.FunctionDef)]
ALIASES = {
    node.target.id: set(re.findall(r"np\.(\w+)", ast.unparse(node.value)))
    for node in STUB.body
    if isinstance(node, ast.AnnAssign)
}


@pytest.fixture
def compiled():
    if not _core.COMPILED:
        pytest.skip("the compiled core is not installed")
    from smaller._core import compiled

    return compiled


def overloads(kernel):
    """What the stub allows: for each overload the types of its arguments, as sets, and what it returns."""
    return [
        ([ALIASES.get(types, {types}) for types in map(ast.unparse, (a.annotation for a in node.args.posonlyargs))],
         ast.unparse(node.returns))
        for node in FUNCTIONS
        if node.name == kernel
    ]  # fmt: skip


def compiled_overloads(function):
    """What the module says of itself: for each overload the types of its arguments and what it returns."""
    for signature, *_ in function.__nb_signature__:
        signature = re.sub(r"ndarray\[dtype=(\w+)[^]]*\]", r"\1", signature)
        arguments, result = re.fullmatch(r"def \w+\((.*), /\) -> (.*)", signature).groups()
        yield re.findall(r"arg\d+: (\w+)", arguments), result


def allows(stub, said):
    """Whether one overload of the stub has these arguments and this result."""
    types, result = stub
    return result == said[1] and len(types) == len(said[0]) and all(a in t for t, a in zip(types, said[0], strict=True))


ALL = (*_core.KERNELS, *_core.WITHOUT_TWIN)


def test_the_stub_has_the_kernels_and_nothing_else(compiled):
    assert {node.name for node in FUNCTIONS} == set(ALL)
    assert {name for name in dir(compiled) if not name.startswith("_")} == set(ALL)


@pytest.mark.parametrize("kernel", ALL)
def test_every_overload_is_in_the_stub_and_every_one_of_the_stub_is_real(compiled, kernel):
    said = list(compiled_overloads(getattr(compiled, kernel)))
    for one in said:
        assert any(allows(stub, one) for stub in overloads(kernel)), one
    for stub in overloads(kernel):
        assert any(allows(stub, one) for one in said), stub


@pytest.mark.parametrize("kernel", _core.KERNELS)
def test_the_names_of_the_stub_are_those_of_the_twin(kernel):
    for node in (node for node in FUNCTIONS if node.name == kernel):
        names = [argument.arg for argument in node.args.posonlyargs]
        twin = list(inspect.signature(getattr(reference, kernel)).parameters)
        if twin == ["arguments"]:  # columns of either kind, then the names that its docstring lists
            listed = re.search(rf"{kernel}\(\*columns, ([^)]*)\)", getattr(reference, kernel).__doc__)
            twin = [*(names[:1] if names[0] == "X" else names[:3]), *re.split(r",\s*", listed[1])]
        assert names == twin
