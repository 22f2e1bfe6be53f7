"""What torchlint says of a folder: one run of the command line, with the rules that are on by default."""

from __future__ import annotations

import compileall
import json
import subprocess
import sys
from pathlib import Path

_COMMAND = ("-m", "torchlint", "check", "--isolated", "--no-cache", "--exit-zero", "--output-format", "json")
_ROOT = Path(__file__).resolve().parent.parent


def compile_modules() -> None:
    """Write the byte code of torchlint, as pip does where it installs it: a checkout has none until modules ran."""
    for folder in ("torchlint", "rules"):
        compileall.compile_dir(_ROOT / folder, quiet=1)


def findings(folder: Path) -> list[dict]:
    """Give the findings as JSON has them; ``filename`` starts at the folder. A run that fails ends the program."""
    command = [sys.executable, *_COMMAND, str(folder.resolve())]
    run = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"{folder.name}: torchlint ended with status {run.returncode}: {run.stderr[-400:]}")
    return [{**found, "filename": _below(folder, found["filename"])} for found in json.loads(run.stdout)]


def _below(folder: Path, name: str) -> str:
    return (_ROOT / name).relative_to(folder.resolve()).as_posix()
