"""What the documentation shows is what happens: its examples run, and its links lead somewhere."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import smaller

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").glob("**/*.md") if "_build" not in page.parts)]
MODULES = sorted(m.name for m in pkgutil.walk_packages(smaller.__path__, "smaller.") if m.name[-9:] != ".compiled")
OPTIONAL = ("typer", "rich", "torch", "triton")
PICTURE = re.compile(r"<!-- picture: (\w+) -->")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)[^)]*\)")


def name(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_examples_of_a_page_give_what_they_show(page):
    result = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert result.failed == 0


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_docstrings_give_what_they_show(module):
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        pytest.skip(f"{module} needs {error.name}")
    if module.startswith("smaller.plots"):
        pytest.importorskip("matplotlib").use("Agg")
    if module == "smaller.export.onnx_graph":
        pytest.importorskip("onnx")
    assert doctest.testmod(found).failed == 0


@pytest.mark.parametrize("public", [n for n in smaller.__all__ if n not in ("Path", "__version__")])
def test_public_names_show_an_example(public):
    found = doctest.DocTestFinder(recurse=False).find(getattr(smaller, public), public)
    assert any(test.examples for test in found)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_files_lead_somewhere(page):
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("a source distribution has only some of the files")
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pictures_are_those_of_examples(page):
    named = PICTURE.findall(page.read_text(encoding="utf-8"))
    assert [example for example in named if not (ROOT / "examples" / f"{example}.py").exists()] == []
