"""Time and peak memory of a cold run against the size of the project.

    scaling.py [--parts growth,small,real] [--sizes 1000,3000,10000,...] [--jobs N] [--output FOLDER]

The projects are made of files of pinned packages of the package index and of the installed torch package, in a fixed
order, until there are so many lines; each file keeps its place in its package, so imports mean what they meant. Counted
are the CPU time of all processes and the peak memory of the largest, without a cache; of processes there is one unless
--jobs says more. Writes scaling.json and scaling.svg into docs/benchmarks or the folder that is given.

The part ``small`` does the same with projects of many small files, with as many processes as pay, below and above the
limits of the engine, and fails where a step takes more than the lines it adds (small.json). The part ``real`` measures
packages one by one (real.json). Both write their table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import small
from linted import compile_modules
from marked import written
from peers import PACKAGES, PAGE, ROOT, source
from real import measured
from real import table as real_table

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
OUTPUT = ROOT / "docs" / "benchmarks"


def files_of(cache: Path) -> Iterator[tuple[Path, Path]]:
    """Files and where they go, packages of the index first."""
    for package in PACKAGES:
        root = source(package, cache)
        yield from ((path, Path(package) / path.relative_to(root)) for path in sorted(root.rglob("*.py")))
    spec = importlib.util.find_spec("torch")
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        root = Path(folder)
        yield from ((path, Path("torch") / path.relative_to(root)) for path in sorted(root.rglob("*.py")))


def make(size: int, files: Sequence[tuple[Path, Path]], folder: Path) -> tuple[int, int]:
    """Put files into a folder until they have so many lines; the lines and files that there are."""
    lines = count = 0
    for path, place in files:
        if lines >= size:
            break
        text = path.read_bytes()
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)
        lines += text.count(b"\n")
        count += 1
    return lines, count


def measure(folder: Path, jobs: int | None = 1) -> tuple[float, float]:
    """CPU seconds and peak memory in MB, that of the largest process, of one run over a folder."""
    command = [sys.executable, "-m", "torchlint", "check", "--isolated", "--no-cache", "-s", "."]
    command[-1:-1] = ["-j", str(jobs)] if jobs is not None else []
    path = str(ROOT)
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, "PYTHONPATH": path})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        sys.exit(f"torchlint ended with status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def plot(rows: Sequence[dict[str, float]]) -> str:
    """Two curves over lines, with logarithmic axes, as SVG: what linear growth is has a slope of one."""
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" width="760" height="340" font-family="sans-serif" font-size="12">',
        '<rect width="760" height="340" fill="white"/>',
    ]
    parts += panel(rows, "cpu_s", "CPU time in s", 60)
    parts += panel(rows, "peak_mb", "peak memory in MB", 440)
    return "\n".join([*parts, "</svg>"]) + "\n"


def panel(rows: Sequence[dict[str, float]], key: str, title: str, left: int) -> list[str]:
    """One plot, 280 wide and 240 high."""
    top, width, height = 40, 280, 240
    decades = [
        math.floor(math.log10(min(row[key] for row in rows))),
        math.ceil(math.log10(max(row[key] for row in rows))),
    ]
    decades[1] = max(decades[1], decades[0] + 1)

    def x(lines: float) -> float:
        return left + width * (math.log10(lines) - 3) / 3.2

    def y(value: float) -> float:
        return top + height * (decades[1] - math.log10(value)) / (decades[1] - decades[0])

    parts = [f'<text x="{left}" y="24" font-weight="bold">{title}</text>']
    for decade in range(decades[0], decades[1] + 1):
        place = y(10**decade)
        parts.append(f'<line x1="{left}" y1="{place:.1f}" x2="{left + width}" y2="{place:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{place + 4:.1f}" text-anchor="end">{10**decade:g}</text>')
    for decade, name in ((3, "1k"), (4, "10k"), (5, "100k"), (6, "1M lines")):
        place = x(10**decade)
        parts.append(f'<line x1="{place:.1f}" y1="{top}" x2="{place:.1f}" y2="{top + height}" stroke="#ddd"/>')
        parts.append(f'<text x="{place:.1f}" y="{top + height + 18}" text-anchor="middle">{name}</text>')
    points = " ".join(f"{x(row['lines']):.1f},{y(row[key]):.1f}" for row in rows)
    parts.append(f'<polyline points="{points}" fill="none" stroke="#1f6feb" stroke-width="2"/>')
    for row in rows:
        parts.append(f'<circle cx="{x(row["lines"]):.1f}" cy="{y(row[key]):.1f}" r="3.5" fill="#1f6feb"/>')
    return parts


def growth(sizes: str, jobs: int, cache: Path, output: Path) -> None:
    """Measure projects of more and more lines of packages."""
    files = list(files_of(cache))
    rows: list[dict[str, float]] = []
    for size in map(int, sizes.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            lines, count = make(size, files, Path(folder))
            seconds, memory = measure(Path(folder), jobs)
            shutil.rmtree(folder, ignore_errors=True)
        rows.append({"lines": lines, "files": count, "cpu_s": round(seconds, 3), "peak_mb": round(memory, 1)})
        per = 1000 * seconds / (lines / 1000)
        print(
            f"{lines:>10,} lines {count:>6} files {seconds:>8.2f} s {memory:>8.0f} MB {per:>6.1f} ms/kloc", flush=True
        )
        machine = {"python": platform.python_version(), "system": platform.system()}
        text = json.dumps({"machine": machine, "results": rows}, indent=1)
        (output / "scaling.json").write_text(text + "\n")
        (output / "scaling.svg").write_text(plot(rows))


def main() -> None:
    """Read the arguments, run, write and show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--parts", default="growth,small,real")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "peers")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    compile_modules()
    cache, parts = options.cache.resolve(), options.parts.split(",")
    if "growth" in parts:
        growth(options.sizes, options.jobs, cache, options.output)
    if "real" in parts:
        costs = measured(cache, measure)
        write(options.output, "real", costs, real_table(costs))
    if "small" in parts:
        steps = small.measured(lambda folder: measure(folder, None))
        write(options.output, "small", steps, small.table(steps))
        if worse := small.worse(steps):
            sys.exit("more than linear: " + ", ".join(worse))


def write(output: Path, name: str, rows: Sequence[dict[str, object]], text: str) -> None:
    """Write what was measured, and its table into the page where the output is that of the documentation."""
    machine = {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()}
    (output / f"{name}.json").write_text(json.dumps({"machine": machine, "results": rows}, indent=1) + "\n")
    if output == OUTPUT:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), name, text), encoding="utf-8")


if __name__ == "__main__":
    main()
