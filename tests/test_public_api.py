"""Public names, parameters and commands are those that were promised: `tests/public_api.txt` has them."""

import ast
import difflib
import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from public_api import API, command_line, public_api

import smaller

PROMISED = (Path(__file__).parent / "public_api.txt").read_text(encoding="utf-8").splitlines()
AGAIN = "If this is on purpose: python tests/public_api.py > tests/public_api.txt, and a line in CHANGELOG.md."


def compare(promised, found):
    """Fail with the lines that went (-) and came (+)."""
    changed = [line for line in difflib.unified_diff(promised, found, lineterm="", n=0) if line[:2] not in ("--", "++")]
    changed = [line for line in changed if not line.startswith("@@")]
    if changed:
        pytest.fail("\n".join(["The public names changed:", *changed, AGAIN]), pytrace=False)


def test_public_names_and_signatures_are_those_promised():
    if not API.is_dir():
        pytest.skip("the API reference is not here")
    compare([line for line in PROMISED if not line.startswith("command ")], public_api())


def test_commands_and_options_are_those_promised():
    pytest.importorskip("typer")
    pytest.importorskip("rich")
    compare([line for line in PROMISED if line.startswith("command ")], command_line())


def test_a_parameter_that_goes_is_said_by_name():
    with pytest.raises(pytest.fail.Exception, match=r"-class smaller.SMLR\(lam, l2\)\n\+class smaller.SMLR\(lam\)"):
        compare(
            ["class smaller.SMLR(lam, l2)", "module smaller.basis"], ["class smaller.SMLR(lam)", "module smaller.basis"]
        )


def test_the_stub_of_the_package_has_the_public_names_from_where_they_are_defined():
    stub = ast.parse((Path(smaller.__file__).with_suffix(".pyi")).read_text(encoding="utf-8"))
    told = {a.name: node.module or "" for node in stub.body if isinstance(node, ast.ImportFrom) for a in node.names}
    assert sorted(told) == sorted(smaller.__all__)
    for name, module in told.items():
        owner = importlib.import_module(f"smaller.{module}") if module else smaller
        assert getattr(smaller, name) is getattr(owner, name)


def test_importing_the_package_imports_no_library():
    """Public names are imported when they are first used: the command's help and its first errors come at once."""
    code = "import smaller, sys; print(*sorted({'numpy', 'scipy', 'sklearn', 'pandas'} & sys.modules.keys()))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == []


def test_report_is_the_function_also_after_its_package_was_imported():
    importlib.import_module("smaller.report.facts")
    assert callable(smaller.report)
    assert smaller.report is importlib.import_module("smaller.report").report


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'smaller' has no attribute 'SMRL'"):
        smaller.SMRL  # noqa: B018
