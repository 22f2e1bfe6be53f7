"""What torchlint costs for real packages: CPU time and peak memory for each thousand lines, cold, in one process.

The packages are pinned, downloaded from the package index as users get them, and unpacked; nothing of them runs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

REAL = (
    *("stable-baselines3==2.9.2", "sb3-contrib==2.9.2", "pfrl==0.4.0", "tianshou==2.0.1", "skrl==2.1.1"),
    *("rl-games==1.6.5", "elegantrl==0.3.6", "xuance==1.4.4", "gpytorch==1.15.2", "pyro-ppl==1.9.2"),
    *("peft==0.21.2", "accelerate==1.15.0", "torchmetrics==1.9.0", "pytorch-lightning==2.6.6", "kornia==0.9.0"),
)
BUDGET = 120
"""Milliseconds for a thousand lines; packages that cost more are marked."""


def unpacked(requirement: str, cache: Path) -> Path:
    """The files of a package as an installer gets them."""
    place = cache / "real" / requirement
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as work:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", work, requirement]
            subprocess.run(command, check=True)
            (file,) = Path(work).iterdir()
            inside = Path(work) / "inside"
            if file.suffix == ".whl":
                with zipfile.ZipFile(file) as archive:
                    archive.extractall(inside)
            else:
                with tarfile.open(file) as packed:
                    packed.extractall(inside, filter="data")
            inside.rename(place)
    return place


def measured(cache: Path, measure: Callable[[Path], tuple[float, float]]) -> list[dict[str, object]]:
    """A row for each package: its lines and files, and what a run takes."""
    rows: list[dict[str, object]] = []
    for requirement in REAL:
        root = unpacked(requirement, cache)
        texts = [path.read_bytes() for path in sorted(root.rglob("*.py"))]
        lines = sum(text.count(b"\n") for text in texts)
        with tempfile.TemporaryDirectory() as folder:  # elsewhere: a cache lies within another project
            copy = shutil.copytree(root, Path(folder) / "package")
            (copy / "pyproject.toml").touch()
            seconds, memory = measure(copy)
        row = {"package": requirement, "files": len(texts), "lines": lines}
        rows.append(
            {**row, "cpu_s": round(seconds, 2), "peak_mb": round(memory, 1), **_per_line(lines, seconds, memory)}
        )
        print(
            f"{requirement:<28} {lines:>8,} lines {rows[-1]['ms_per_kloc']:>7} ms {rows[-1]['kb_per_kloc']:>7} KB",
            flush=True,
        )
    return rows


def _per_line(lines: int, seconds: float, memory: float) -> dict[str, object]:
    return {
        "ms_per_kloc": round(1e6 * seconds / lines, 1),
        "kb_per_kloc": round(1e6 * memory / lines),
    }


def table(rows: Sequence[dict[str, object]]) -> str:
    """The rows as a table in Markdown, the costliest first."""
    text = ["| package | files | lines | ms per 1,000 lines | KB per 1,000 lines |", "|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda row: -float(str(row["ms_per_kloc"]))):
        cost = f"**{row['ms_per_kloc']}**" if float(str(row["ms_per_kloc"])) > BUDGET else row["ms_per_kloc"]
        text.append(f"| {row['package']} | {row['files']} | {row['lines']:,} | {cost} | {row['kb_per_kloc']:,} |")
    return "\n".join(text) + "\n"
