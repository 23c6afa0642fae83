"""Whether files that programs write are what the programs would write now: python .ci/generated.py.

The list of public names, and the tables of the experiments' pages, which come from the recorded figures.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def public_api() -> tuple[str, str]:
    """What tests/public_api.txt should be, and how to write it."""
    command = [sys.executable, "tests/public_api.py"]
    now = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return now, "python tests/public_api.py > tests/public_api.txt"


def experiments(folder: Path) -> tuple[str, str]:
    """What the page of a paper should be, and how to write it."""
    from experiments import harness

    paper, ours = (json.loads((folder / name).read_text(encoding="utf-8")) for name in ("paper.json", "ours.json"))
    page = (folder / "README.md").read_text(encoding="utf-8")
    return harness.insert(page, harness.comparison(paper, ours)), f"make reproduce PAPER={folder.name}"


def main() -> int:
    files = {ROOT / "tests" / "public_api.txt": public_api()}
    for figures in sorted(ROOT.glob("experiments/*/ours.json")):
        files[figures.with_name("README.md")] = experiments(figures.parent)
    stale = [(file, remedy) for file, (now, remedy) in files.items() if file.read_text(encoding="utf-8") != now]
    for file, remedy in stale:
        print(f"{file.relative_to(ROOT)} is not what it is made from; this writes it anew: {remedy}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
