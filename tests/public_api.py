"""The public names of the package as plain lines, one for each name; `tests/public_api.txt` is what was promised.

Public is what the API reference (docs/api) lists, and what `__all__` of these modules names. After a change on purpose,
this command writes the lines anew:

    python tests/public_api.py > tests/public_api.txt
"""

import enum
import functools
import importlib
import inspect
import re
from pathlib import Path

API = Path(__file__).resolve().parent.parent / "docs" / "api"
PATHS = ["smaller", "smaller.bounds", "smaller.decision", "smaller.errors", "smaller.plots", "smaller.report"]
PATHS += ["smaller.inference", "smaller.persist", "smaller.tables"]
DIRECTIVE = re.compile(r"^\.\. (?:py:)?(auto\w+|currentmodule):: ([\w.]+)\n((?:[ \t]+:.*\n)*)", re.MULTILINE)
EXCLUDED = re.compile(r":exclude-members: (.*)")
ATTRIBUTES = re.compile(r"^Attributes\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"^([a-z]\w*(?:, [a-z]\w*)*)(?: :.*)?$", re.MULTILINE | re.IGNORECASE)
ROUTING = re.compile(r"set_\w+_request")  # scikit-learn adds these, more of them from version to version


def public_api() -> list[str]:
    """Every line, sorted."""
    found = {line for path in PATHS for name in importlib.import_module(path).__all__ for line in _lines(path, name)}
    for page in sorted(API.glob("*.rst")):
        found |= set(_of_page(page.read_text(encoding="utf-8")))
    return sorted(found, key=lambda line: (line.partition(" ")[2], line))


def command_line() -> list[str]:
    """Every command with its arguments and options; needs the extra `cli`."""
    import typer

    from smaller.cli import app

    commands = typer.main.get_command(app).commands
    return [
        f"command smaller {name} {' '.join('/'.join([*each.opts, *each.secondary_opts]) for each in command.params)}"
        for name, command in sorted(commands.items())
    ]


def _of_page(text: str):
    module = "smaller"
    for kind, name, options in DIRECTIVE.findall(text):
        if kind == "currentmodule":
            module = name
        elif kind == "automodule":
            yield f"module {name}"
            if re.search(r":members:", options):
                yield from _of_module(name, set("".join(EXCLUDED.findall(options)).split(", ")))
        elif kind != "automethod":
            full = name if name.startswith("smaller") else f"{module}.{name}"
            path, _, last = full.rpartition(".")
            yield from _lines(path, last)


def _of_module(path: str, excluded: set[str]):
    module = importlib.import_module(path)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == path]
    for name in getattr(module, "__all__", own):
        if not name.startswith("_") and name not in excluded:
            yield from _lines(path, name)


def _lines(path: str, name: str):
    value, full = getattr(importlib.import_module(path), name), f"{path}.{name}"
    if inspect.ismodule(value):
        yield f"module {full}"
    elif inspect.isclass(value):
        yield from _of_class(value, full)
    elif callable(value):
        yield f"function {full}{_signature(value)}"
    else:
        yield f"constant {full}"


def _of_class(cls: type, full: str):
    if issubclass(cls, BaseException):
        yield f"exception {full}({cls.__mro__[1].__name__})"
    else:
        yield f"class {full}" + ("" if issubclass(cls, enum.Enum) else _signature(cls))
    ours = [base for base in cls.__mro__ if base.__module__.partition(".")[0] == "smaller"]
    parameters = cls._get_param_names() if hasattr(cls, "_get_param_names") else []  # the signature has them
    for name in {name for base in ours for name in vars(base)}.difference(parameters):
        if not name.startswith("_") and not ROUTING.fullmatch(name):
            yield _of_member(cls, name, f"{full}.{name}")
    for section in ATTRIBUTES.findall(inspect.getdoc(cls) or ""):
        for names in NAMED.findall(section):
            yield from (f"attribute {full}.{name}" for name in names.split(", "))


def _of_member(cls: type, name: str, full: str) -> str:
    fixed = inspect.getattr_static(cls, name)
    if isinstance(fixed, (property, functools.cached_property)):
        return f"property {full}"
    if isinstance(fixed, (staticmethod, classmethod)):
        return f"method {full}{_signature(getattr(cls, name))}"
    if callable(getattr(cls, name)):
        return f"method {full}{_signature(getattr(cls, name), skip=1)}"
    return f"attribute {full}"


class _Shown:
    """A default value as it is written in a signature, without addresses in memory."""

    def __init__(self, value):
        self.text = f"<{value.__name__}>" if callable(value) else repr(value)

    def __repr__(self) -> str:
        return self.text


def _signature(function, skip: int = 0) -> str:
    given = list(inspect.signature(function).parameters.values())[skip:]
    bare = [each.replace(annotation=each.empty) for each in given]
    shown = [each if each.default is each.empty else each.replace(default=_Shown(each.default)) for each in bare]
    return str(inspect.Signature(shown))


if __name__ == "__main__":
    print("\n".join([*public_api(), *command_line()]))
