"""The command `smaller`, also as python -m smaller."""

from __future__ import annotations

import sys

EXTRA = 'The command needs typer, rich, pandas and pyarrow; install them with: pip install "smaller[cli]"'


def main() -> int:
    """Run the command, or print which packages it needs."""
    try:
        from .cli import run
    except KeyboardInterrupt:
        print("error: Interrupted; no file was changed.", file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("smaller"):
            raise
        print(f"error: {EXTRA} (missing: {error.name})", file=sys.stderr)
        return 1
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
