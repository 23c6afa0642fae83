"""The Typer application: commands are declared here first, and what carries them out is imported when one is run.

So `smaller --help`, and an error in what was typed, need neither NumPy nor scikit-learn, whose import takes a second.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from .._version import __version__
from .terminal import say

app = typer.Typer(
    help="Sparse Bayesian models from the command line: fit a table, predict another, and report.",
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False,
)  # fmt: skip


def _version(asked: bool) -> None:
    if asked:
        say(f"smaller {__version__}")
        raise typer.Exit


@app.callback()
def show_version(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Sparse Bayesian models from the command line: fit a table, predict another, and report."""


def command(name: str, body: str, options: dict[str, tuple[Any, Any]] | None = None) -> Callable[[Callable], Callable]:
    """A decorator that makes a declaration, which has no body of its own, a command of the application.

    `body` is "module.function" in this folder. It is imported when the command runs, and receives what was given by
    name; the values of further `options` (annotations and defaults by their names) in a dict, `reading`.
    """

    def decorate(declaration: Callable) -> Callable:
        def run(**given: Any) -> None:
            if options is not None:
                given["reading"] = {option: given.pop(option) for option in options}
            module, _, function = body.partition(".")
            getattr(import_module(f".{module}", __package__), function)(**given)

        own = signature(declaration, eval_str=True).parameters.values()
        more = [
            Parameter(option, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for option, (kind, default) in (options or {}).items()
        ]
        every = [*(one.replace(kind=Parameter.KEYWORD_ONLY) for one in own), *more]
        run.__name__, run.__doc__, run.__module__ = name, declaration.__doc__, declaration.__module__
        run.__annotations__ = {one.name: one.annotation for one in every}
        run.__signature__ = Signature(every)  # type: ignore[attr-defined]
        return app.command(name=name)(run)

    return decorate
