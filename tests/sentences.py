"""Lists every sentence that a user can meet: errors, warnings, statuses, help, the terminal, and the page of a report.

    python tests/sentences.py

prints one line for each text of two words or more, with its place, to be read against "Words" and "Messages" in
docs/style.md. Values that are filled in are shown as {}. Docstrings are left out, but for those of commands.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "src" / "smaller"
LEAST = 12  # characters; shorter texts are names


def text_of(node: ast.AST) -> str:
    """A text of the source, with {} for each value that is filled in; empty for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mod)):
        return text_of(node.left) + text_of(node.right)
    return ""


def outermost(node: ast.AST) -> Iterator[ast.AST]:
    """The whole texts inside a node, not the pieces of an f-string."""
    for child in ast.iter_child_nodes(node):
        if text_of(child):
            yield child
        else:
            yield from outermost(child)


def of_module(path: Path) -> Iterator[tuple[int, str]]:
    """Every text of a module but its docstrings; those of commands are their help."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and text_of(node.value):
            node.value = ast.Constant(None)
        if isinstance(node, ast.FunctionDef) and any("app." in ast.unparse(one) for one in node.decorator_list):
            yield node.lineno, ast.get_docstring(node) or ""
    yield from ((part.lineno, text_of(part)) for part in outermost(tree))


def of_page(path: Path) -> Iterator[tuple[int, str]]:
    """The sentences of a template or of a script of the page."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        found = re.finditer(r"`([^`]*)`|\"([^\"\n]*)\"", text)
        yield from ((text.count("\n", 0, one.start()) + 1, one[1] or one[2] or "") for one in found)
        return
    plain = re.sub(r"<script.*?</script>|{%.*?%}|<[^>]*>", "\n", re.sub(r"{{.*?}}", "{}", text), flags=re.DOTALL)
    labels = re.findall(r'aria-label="([^"]*)"', text)
    yield from ((0, line) for line in [*plain.split("\n"), *labels])


def sentences() -> Iterator[str]:
    """Every sentence once, with its file and line."""
    seen = set()
    for path in sorted(PACKAGE.rglob("*")):
        if path.suffix not in (".py", ".j2", ".js"):
            continue
        for line, text in of_module(path) if path.suffix == ".py" else of_page(path):
            plain = " ".join(text.split())
            if len(plain) < LEAST or " " not in plain or plain in seen:
                continue
            seen.add(plain)
            yield f"{path.relative_to(PACKAGE)}:{line}: {plain}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in sentences())
