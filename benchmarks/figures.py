"""Measures the examples of the rules on this machine and writes the figures that messages and documentation quote.

    python benchmarks/figures.py [CODES] [--rounds N] [--device cpu|cuda] [-o FILE]

Without codes all rules are measured and the file is written anew. With codes only their rows are replaced, which needs
a file from the same machine. A row whose control run strays is measured again, and left out after the last try.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import platform
import sys
from pathlib import Path

import numpy as np
import torch

from torchlint.bench.measure import Unsteady, figure
from torchlint.engine.rules import load_rules
from torchlint.rule import Example, Rule

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "rules" / "torchlint_rules" / "figures.json"
TRIES = 4

Row = dict[str, str | float]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a line for each example, write the file. Returns 1 when a row could not be measured."""
    options = _options(arguments)
    machine = _machine(options.device)
    chosen = [rule for rule in load_rules() if not options.codes or rule.code in options.codes]
    if missing := set(options.codes) - {rule.code for rule in chosen}:
        print(f"no rule with the code {', '.join(sorted(missing))}", file=sys.stderr)
        return 2
    kept = _kept(options.output, machine, options.codes) if options.codes else []
    rows, failed = list(kept), 0
    for rule in chosen:
        # Away from an accelerator the figure of a rule about one would say nothing of what it finds.
        for example in () if rule.cuda_only and options.device == "cpu" else rule.examples:
            row = _row(rule, example, options.rounds, options.device)
            failed += row is None
            rows += [row] if row is not None else []
    rows.sort(key=lambda row: str(row["code"]))
    options.output.write_text(json.dumps({"machine": machine, "figures": rows}, indent=1) + "\n", encoding="utf-8")
    return 1 if failed else 0


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", nargs="*", metavar="CODES", help="rules to measure (default: all)")
    parser.add_argument("--rounds", type=int, default=21, help="interleaved rounds for each example (default: 21)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("-o", "--output", type=Path, default=FIGURES, help="file to write (default: the rules' own)")
    return parser.parse_args(arguments)


def _machine(device: str) -> dict[str, str | int]:
    """What the figures hold for."""
    return {
        "device": torch.cuda.get_device_name() if device == "cuda" else "cpu",
        "processor": _processor(),
        "threads": 1,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def _processor() -> str:
    """The processor's name, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _kept(path: Path, machine: dict[str, str | int], codes: list[str]) -> list[Row]:
    """The rows of other rules in a file from the same machine. A file from another one ends the program."""
    if not path.exists():
        return []
    old = json.loads(path.read_text(encoding="utf-8"))
    if old["machine"] != machine:
        sys.exit(f"{path} was measured on another machine: measure all rules, or write to another file with -o")
    return [row for row in old["figures"] if row["code"] not in codes]


def _row(rule: type[Rule], example: Example, rounds: int, device: str) -> Row | None:
    """Measure one example, several times if the machine is unsteady."""
    for _ in range(TRIES):
        try:
            found = figure(rule, example, rounds, device)
        except Unsteady as error:
            print(f"{error}: not written", file=sys.stderr)
            continue
        print(
            f"{rule.code} {example.name}: {found.ratio:.2f} [{found.low:.2f}-{found.high:.2f}], "
            f"saves {found.saves_us:.2f} us, control {found.control:.3f}"
        )
        rounded = {name: float(f"{value:.4g}") for name, value in dataclasses.asdict(found).items()}
        return {"code": rule.code, "example": example.name, **rounded, "size": size(example), "device": device}
    return None


def size(example: Example) -> str:
    """What was measured, in words: the example's name and the sizes of its inputs."""
    inputs = [f"{i.name} {'x'.join(map(str, i.shape))}" for i in example.inputs if i.shape]
    return ", ".join([example.name.replace("-", " "), *inputs])


if __name__ == "__main__":
    sys.exit(main())
