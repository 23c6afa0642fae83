"""What must hold of the package as a whole: its version, its compiled core, and what its files may say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import smaller
from smaller import _core

ROOT = Path(__file__).resolve().parent.parent

# Absolute folders of somebody's machine, and addresses of package registries.
MACHINE_PATH = re.compile(r"(?<![\w./:>$})*-])/(?:work|root|opt|tmp|home|Users|mnt|srv)(?![\w-])")
REGISTRY = re.compile(r"\bpypi[.](?:org|python)|pythonhosted[.]org|registry[.]npmjs|anaconda[.]org|\bfile:/")


def project_files():
    """Every text file that is, or would be, under version control."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the files of the project are known only in a git checkout")
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if path.is_file() and b"\0" not in (content := path.read_bytes())[:8192]:
            yield name, content.decode(errors="replace")


def test_the_citation_names_the_version_of_the_package():
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (\S+)$", citation, re.MULTILINE).group(1) == smaller.__version__


def test_the_compiled_core_is_what_runs():
    if not os.environ.get("SMALLER_REQUIRE_COMPILED"):
        pytest.skip("SMALLER_REQUIRE_COMPILED is not set, so the NumPy twins may stand in for the compiled core")
    assert _core.COMPILED is True


@pytest.mark.parametrize(("value", "expected"), [("1", False), ("0", _core.COMPILED), ("", _core.COMPILED)])
def test_the_twins_can_be_chosen_and_do_not_warn_then(value, expected):
    code = "from smaller import SMLR, _core; _core.PURE and SMLR(0.1).fit([[0], [1]], [0, 1]); print(_core.COMPILED)"
    command = [sys.executable, "-W", "error", "-c", code]
    environment = {**os.environ, "SMALLER_PURE": value}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(expected)


@pytest.mark.parametrize("pattern", [MACHINE_PATH, REGISTRY], ids=["machine paths", "registry addresses"])
def test_no_file_names(pattern):
    found = [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, text in project_files()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found, "\n".join(found)
