"""What an edit costs in an editor: CPU time from the change to the diagnostics, and memory, through a real client.

    editor.py [--lines 60000] [--edits 5] [--tied] [--cache FOLDER] [--write]

The project is made of files of pinned packages of the package index, as in scaling.py. A client that knows nothing of
torchlint starts the language server, opens one file of each package, and types: each edit changes a number inside of
the longest function of a file. Counted is the CPU time of the server, user and system: until the first diagnostics of
the new text, and until nothing is left to do, which is when the findings are those of ``torchlint check``. With
--tied, one more file sets a default of torch, so that all files are connected and are analysed at once: the worst case.
Writes docs/benchmarks/editor.json and the table in docs/editors.md with --write.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from linted import compile_modules
from marked import written
from peers import ROOT
from scaling import files_of, make

RESULT = ROOT / "docs" / "benchmarks" / "editor.json"
PAGE = ROOT / "docs" / "editors.md"
OPENED = ("stable_baselines3/ppo/ppo.py", "pfrl/agents/ppo.py", "tianshou/data/collector.py")
TIED = "import torch\n\ntorch.set_default_dtype(torch.float32)\n"
# Seconds without CPU time after which a server has nothing left to do.
_QUIET = 3.0
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """CPU seconds and seconds until the first diagnostics, and CPU seconds until nothing was left to do."""

    file: str
    what: str
    first_cpu_s: float
    first_s: float
    settled_cpu_s: float


def cpu(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def peak(pid: int) -> float:
    """The most memory that a process had, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def edited(text: str, number: int) -> str:
    """A text with another number at the beginning of the longest function."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef) and len(node.body) > 1]
    longest = max(functions, key=lambda node: (node.end_lineno or 0) - node.lineno)
    statement = longest.body[1]
    lines = text.splitlines(keepends=True)
    lines.insert(statement.lineno - 1, " " * statement.col_offset + f"number_of_edit = {number}\n")
    return "".join(lines)


async def quiet(pid: int) -> float:
    """CPU seconds of a process when it has nothing left to do."""
    seen, since = cpu(pid), time.monotonic()
    while time.monotonic() - since < _QUIET:
        await asyncio.sleep(0.1)
        if (now := cpu(pid)) - seen > 2 / _TICKS:
            seen, since = now, time.monotonic()
    return cpu(pid)


async def talk(folder: Path, edits: int) -> tuple[list[Cost], float]:
    """Open files, edit them one after the other; what each step cost, and the most memory."""
    from speaking import client_of

    costs: list[Cost] = []
    async with client_of(folder) as client:
        pid = client._server.pid

        async def step(file: str, what: str, uri: str, version: int) -> None:
            before, began = cpu(pid), time.monotonic()
            await client.diagnostics(uri, version)
            first, wall = cpu(pid) - before, time.monotonic() - began
            settled = await quiet(pid) - before
            costs.append(Cost(file, what, round(first, 2), round(wall, 2), round(settled, 2)))
            print(f"{what:>6} {first:6.2f} s CPU, {wall:6.2f} s; settled {settled:6.2f} s CPU  {file}", flush=True)

        opened: dict[str, tuple[str, str]] = {}
        for end in OPENED:
            path = next(path for path in sorted(folder.rglob("*.py")) if path.as_posix().endswith(end))
            text = path.read_text(encoding="utf-8")
            uri = client.open(path, text)
            opened[end] = uri, text
            await step(end, "open", uri, 1)
        for number in range(2, edits + 2):
            for end, (uri, text) in opened.items():
                client.change(uri, edited(text, number), number)
                await step(end, "edit", uri, number)
        return costs, peak(pid)


def table(lines: int, costs: list[Cost], memory: float) -> str:
    """What the documentation shows."""
    opens = [cost for cost in costs if cost.what == "open"]
    edits = [cost for cost in costs if cost.what == "edit"]
    rows = [
        ("first diagnostics of the first file", opens[0].first_cpu_s, opens[0].first_s),
        ("an edit inside of a function: median", *_medians(edits)),
        ("an edit inside of a function: most", max(e.first_cpu_s for e in edits), max(e.first_s for e in edits)),
        ("the whole analysis behind an edit: median", statistics.median(e.settled_cpu_s for e in edits), None),
    ]
    told = ["| step | CPU s | seconds |", "|---|---:|---:|"]
    told += [f"| {name} | {used:.2f} | {'' if wall is None else f'{wall:.2f}'} |" for name, used, wall in rows]
    return f"{lines:,} lines; the server took {memory:.0f} MB at most.\n\n" + "\n".join(told) + "\n"


def _medians(costs: list[Cost]) -> tuple[float, float]:
    return statistics.median(c.first_cpu_s for c in costs), statistics.median(c.first_s for c in costs)


def main() -> None:
    """Make the project, talk, and show or write what it cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=60_000)
    parser.add_argument("--edits", type=int, default=5)
    parser.add_argument("--tied", action="store_true")
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "peers")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    compile_modules()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        lines, _ = make(options.lines, list(files_of(options.cache.resolve())), folder)
        (folder / "pyproject.toml").write_text('[project]\nname = "several"\n')
        if options.tied:
            (folder / "everywhere.py").write_text(TIED)
        costs, memory = asyncio.run(talk(folder, options.edits))
    text = table(lines, costs, memory)
    print(text)
    if options.write:
        machine = {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()}
        results = {"machine": machine, "lines": lines, "peak_mb": round(memory), "steps": [*map(asdict, costs)]}
        RESULT.write_text(json.dumps(results, indent=1) + "\n")
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), "editor", text), encoding="utf-8")


if __name__ == "__main__":
    main()
