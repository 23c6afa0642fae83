"""Public names, parameters and commands are those that were promised: `tests/public_api.txt` has them."""

import difflib
from pathlib import Path

import pytest
from public_api import API, command_line, public_api

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
