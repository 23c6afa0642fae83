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
STRUCTS = {node.name: node.body[0] for node in STUB.body if isinstance(node, ast.ClassDef)}
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


def arguments_of(node):
    """Names and types of the arguments of a function of the stub, types as sets."""
    given = [a for a in (*node.args.args, *node.args.kwonlyargs) if a.arg != "self"]
    return [(a.arg, types_of(ast.unparse(a.annotation))) for a in given]


def types_of(annotation):
    named, _, none = annotation.partition(" | None")
    return ALIASES.get(named, {named}) | ({"None"} if none or annotation.endswith("| None") else set())


def said_by(signature):
    """Names and types of the arguments that the module says of itself."""
    signature = re.sub(r"ndarray\[dtype=(\w+)[^]]*\]", r"\1", signature).replace("smaller._core.compiled.", "")
    arguments, result = re.fullmatch(r"def \w+\((.*)\) -> (.*)", signature).groups()
    found = re.findall(r"(\w+): (\w+)( \| None)?", arguments)
    return [(name, {kind} | ({"None"} if none else set())) for name, kind, none in found], result


def allows(node, said):
    """Whether a function of the stub has these arguments and this result."""
    arguments, result = said
    stub = arguments_of(node)
    return (
        ast.unparse(node.returns) == result
        and len(stub) == len(arguments)
        and all(a == b and kinds <= types for (a, types), (b, kinds) in zip(stub, arguments, strict=True))
    )


IN_PYTHON = (*_core.KERNELS, *_core.FALLBACKS)
FUNCTION_NAMES = (*IN_PYTHON, *(name for name in _core.WITHOUT_TWIN if name.islower()))
ALL = (*IN_PYTHON, *_core.STRUCTS, *_core.WITHOUT_TWIN)


def test_the_stub_has_the_kernels_and_nothing_else(compiled):
    assert {node.name for node in FUNCTIONS} | set(STRUCTS) == set(ALL)
    assert {name for name in dir(compiled) if not name.startswith("_")} == set(ALL)


@pytest.mark.parametrize("kernel", FUNCTION_NAMES)
def test_every_overload_is_in_the_stub_and_every_one_of_the_stub_is_real(compiled, kernel):
    said = [said_by(signature) for signature, *_ in getattr(compiled, kernel).__nb_signature__]
    stubs = [node for node in FUNCTIONS if node.name == kernel]
    for one in said:
        assert any(allows(stub, one) for stub in stubs), one
    for stub in stubs:
        assert any(allows(stub, one) for one in said), ast.unparse(stub)


@pytest.mark.parametrize("name", STRUCTS)
def test_the_structs_of_the_stub_have_the_fields_of_the_module(compiled, name):
    ((signature, *_),) = getattr(compiled, name).__init__.__nb_signature__
    assert allows(STRUCTS[name], said_by(signature))


@pytest.mark.parametrize("name", _core.STRUCTS)
def test_the_structs_of_the_stub_are_those_of_the_twins(name):
    assert [field for field, _ in arguments_of(STRUCTS[name])] == list(getattr(reference, name)._fields)


@pytest.mark.parametrize("kernel", IN_PYTHON)
def test_the_names_of_the_stub_are_those_of_the_twin(kernel):
    for node in (node for node in FUNCTIONS if node.name == kernel):
        names = [name for name, _ in arguments_of(node)]
        twin = list(inspect.signature(getattr(reference, kernel)).parameters)
        if twin == ["arguments"]:  # columns of either kind, then the names that its docstring lists
            listed = re.search(rf"{kernel}\(\*columns, ([^)]*)\)", getattr(reference, kernel).__doc__)
            twin = [*(names[:1] if names[0] == "X" else names[:3]), *re.split(r",\s*", listed[1])]
        assert names == twin
