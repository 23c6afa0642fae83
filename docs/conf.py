"""How Sphinx builds the documentation: make docs, or sphinx-build -W -b html docs docs/_build/html."""

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import smaller

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # experiments and benchmarks, where they are

project = "smaller"
author = "smaller developers"
project_copyright = "smaller developers, BSD 3-Clause licence"
version = release = smaller.__version__

extensions = ["myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx_gallery.gen_gallery"]
if find_spec("sphinx-mathjax-offline"):  # formulas without a network; else a browser asks for MathJax there
    extensions.append("sphinx-mathjax-offline")
exclude_patterns = ["_build", "**/generated"]
if find_spec("smaller.datasets") is None:
    exclude_patterns.append("api/datasets.rst")

myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # the files of other folders that are shown here have headings of their own

default_role = "code"  # `names` in docstrings
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False

# Each example of the gallery is run; one that fails, fails the build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"(demo|pictures|blasso)\.py",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "default_thumb_file": None,
    "thumbnail_size": (400, 280),
}

html_theme = "pydata_sphinx_theme"
html_title = f"smaller {version}"
html_static_path = ["_static"]
html_css_files = ["smaller.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Only folders have a tree of their own.
html_sidebars = {page.stem: [] for page in Path(__file__).parent.glob("*.md")} | {"gallery/*": []}

# Pages that show files of the repository. Markers, which other readers of these files do not see, are replaced:
#   <!-- gather: PATTERN -->   the files that match
#   <!-- picture: NAME -->     the picture of an example of the gallery, which leads to it
#   <!-- overview -->          what the papers' experiments came to, in one table
#   <!-- results -->           the same, row by row

GATHER = re.compile(r"^<!-- gather: (\S+) -->$", re.MULTILINE)
PICTURE = re.compile(r"<!-- picture: (\w+) -->")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")
NOTHING = "*Nothing to show yet.*"
EXPERIMENTS = sorted(file.parent for file in (ROOT / "experiments").glob("*/ours.json"))


def gather(app, docname, source):
    """Put the files in place of each marker, or a sentence where there are none; tidy the ends of code blocks."""

    def texts(match):
        files = sorted(ROOT.glob(match[1]))
        for file in files:
            app.env.note_dependency(str(file))
        fit_in = deeper if "*" in match[1] else untitled
        return "\n\n".join(fit_in(text) for text in map(adopt, files) if text) or NOTHING

    def picture(match):
        title = (ROOT / "examples" / f"{match[1]}.py").read_text(encoding="utf-8").splitlines()[1]
        thumb = f"gallery/images/thumb/sphx_glr_{match[1]}_thumb.png"
        return f"[![{title}]({thumb})](gallery/{match[1]}.rst)"

    text = PICTURE.sub(picture, GATHER.sub(texts, source[0]))
    if docname == "results":
        text = text.replace("<!-- overview -->", overview(app)).replace("<!-- results -->", results())
    source[0] = text.replace("\n\n```\n", "\n```\n")  # the blank line is doctest's business


def overview(app) -> str:
    """All papers in one table."""
    if not EXPERIMENTS:
        return NOTHING
    from experiments import verdicts

    for folder in EXPERIMENTS:
        for file in folder.glob("*.json"):
            app.env.note_dependency(str(file))
    return verdicts.overview(EXPERIMENTS)


def results() -> str:
    """Each paper: what its README says, with the tables of figures and verdicts in the place of its tables."""
    if not EXPERIMENTS:
        return NOTHING
    from experiments import harness, verdicts

    def one(folder: Path) -> str:
        before, rest = (folder / "README.md").read_text(encoding="utf-8").split(harness.BEGIN)
        tables = verdicts.paper(folder)[1]
        return deeper(adopt(folder / "README.md", before + tables + rest.split(harness.END)[1]))

    return "\n\n".join(map(one, EXPERIMENTS))


def draw_benchmarks(app):
    """The picture of the benchmarks, from their raw results."""
    if not (ROOT / "benchmarks" / "results").is_dir():
        return
    from benchmarks.picture import draw

    file = Path(app.srcdir) / "images" / "generated" / "benchmarks.svg"
    file.parent.mkdir(exist_ok=True)
    draw().savefig(file)


def adopt(file: Path, text: str | None = None) -> str:
    """The text of a file: pictures are found from here, and links to files become plain text."""
    text = COMMENT.sub("", file.read_text(encoding="utf-8") if text is None else text).strip()
    folder = Path("..") / file.parent.relative_to(ROOT)
    return LINK.sub(lambda m: f"![{m[2]}]({(folder / m[3]).as_posix()})" if m[1] else m[2], text)


def deeper(text: str) -> str:
    """Headings one level down, below the page's own."""
    return re.sub(r"^(?=#+ )", "#", text, flags=re.MULTILINE)


def untitled(text: str) -> str:
    """Without a title, for the page has one."""
    return re.sub(r"\A# .*\n", "", text)


# Docstrings write |w| for absolute values, as one does in a terminal; reStructuredText would look for a substitution.


def keep_bars(app, what, name, obj, options, lines):
    """Escape vertical bars outside literal blocks."""
    literal = None
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None:
            lines[number] = re.sub(r"(?<!\\)\|", r"\\|", line)
            literal = indent if line.rstrip().endswith("::") else None


def setup(app):
    """Connect what is above."""
    app.connect("builder-inited", draw_benchmarks)
    app.connect("source-read", gather)
    app.connect("autodoc-process-docstring", keep_bars)
