"""Measures the examples of the rules with the suite of ``torchlint bench`` and writes what the project ships.

    python benchmarks/figures.py [CODES] [--rounds N] [--device cpu|cuda] [--counts]

The data go to ``docs/benchmarks/<machine>.json``; what messages and documentation quote of them, to the rules' own
``figures.json``; ``docs/judgement.md`` is written again. With codes only their rows are replaced, which needs data of
the same machine and the same torch. An example whose control strays is measured again, and left out after the last try.

``--counts`` only counts events on the counted device, for all examples: counts are the same on every machine, and the
times in the file stay as they are.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from torchlint import __version__
from torchlint.bench.counting import count
from torchlint.bench.device import device_of
from torchlint.bench.fixed import fixed
from torchlint.bench.program import left_as_it_was
from torchlint.bench.result import ExampleStatus, Machine, ResultRow, Results, size_of, to_json
from torchlint.bench.store import load
from torchlint.bench.suite import Thoroughness, examples_of, row_of, running
from torchlint.bench.table import as_text
from torchlint.engine.figures import figures_by_example
from torchlint.engine.rules import load_rules
from torchlint.rule import Example, Rule

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "rules" / "figures.json"
DATA = ROOT / "docs" / "benchmarks"
TRIES = 4
QUOTED = ("ratio", "low", "high", "saves_us", "control")


def main(arguments: list[str] | None = None) -> int:
    """Measure, print the table, write the files. Returns 1 when an example could not be measured."""
    options = _options(arguments)
    rules = load_rules()
    if options.counts:
        data = json.loads(FIGURES.read_text(encoding="utf-8"))
        FIGURES.write_text(text_of(data["machine"], data["figures"], counted(rules), rules), encoding="utf-8")
        subprocess.run([sys.executable, str(ROOT / "benchmarks" / "judgement.py")], check=False)
        return 0
    chosen = [rule for rule in rules if not options.codes or rule.code in options.codes]
    if missing := set(options.codes) - {rule.code for rule in chosen}:
        print(f"no rule with the code {', '.join(sorted(missing))}", file=sys.stderr)
        return 2
    device = device_of(options.device)
    path = DATA / f"{slug(device.machine())}.json"
    old = load(path)
    if options.codes and (old is None or old.machine != device.machine()):
        print(f"{path} holds nothing of this machine with this torch: measure all rules first", file=sys.stderr)
        return 2
    rows: list[ResultRow] = []
    with running():
        for rule, example in examples_of(chosen):
            rows.append(row_of(rule, example, device, Thoroughness(options.rounds, TRIES)))
            print(f"{rule.code} {example.name}: {rows[-1].status.value}", file=sys.stderr, flush=True)
    new = Results(device.machine(), tuple(rows), version=__version__)
    print(as_text(new, figures_by_example(), chosen, color=False, unicode=True, width=100))
    kept = old.rows if old is not None and options.codes else ()
    results = dataclasses.replace(new, rows=together(kept, new.rows, rules))
    path.write_text(to_json(results), encoding="utf-8")
    FIGURES.write_text(quoted(FIGURES, results, rules), encoding="utf-8")
    # In a process of its own: this one has read the figures before.
    subprocess.run([sys.executable, str(ROOT / "benchmarks" / "judgement.py")], check=False)
    return int(any(row.status not in (ExampleStatus.MEASURED, ExampleStatus.COUNTED) for row in rows))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", nargs="*", metavar="CODES", help="rules to measure (default: all)")
    parser.add_argument("--rounds", type=int, default=21, help="interleaved rounds for each example (default: 21)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--counts", action="store_true", help="count events of all examples, and measure no time")
    return parser.parse_args(arguments)


def slug(machine: Machine) -> str:
    """A file name for a machine: ``amd-epyc`` or ``nvidia-h100-80gb-hbm3``."""
    name = machine.processor if machine.device == "cpu" else machine.device
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def together(old: Sequence[ResultRow], new: Sequence[ResultRow], rules: Sequence[type[Rule]]) -> tuple[ResultRow, ...]:
    """What was measured, in the order of the rules and their examples; a new row takes the place of an old one."""
    rows = {(row.code, row.example): row for row in (*old, *new) if row.status is ExampleStatus.MEASURED}
    order = [(rule.code, example.name) for rule, example in examples_of(rules)]
    return tuple(rows[key] for key in order if key in rows)


def quoted(path: Path, results: Results, rules: Sequence[type[Rule]]) -> str:
    """The figures as the rules quote them, beside those of the other device that are in the file."""
    device = "cpu" if results.machine.device == "cpu" else "cuda"
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"machine": None, "figures": []}
    mine = json.loads(to_json(results))
    rows = [row for row in old["figures"] if row["device"] != device]
    for row in mine["rows"]:
        named = {name: row["figure"][name] for name in QUOTED}
        rows.append({"code": row["code"], "example": row["example"], **named, "size": row["size"], "device": device})
    machine = mine["machine"] if device == "cpu" or old["machine"] is None else old["machine"]
    return text_of(machine, rows, counted(rules), rules)


def counted(rules: Sequence[type[Rule]]) -> list[dict[str, object]]:
    """The events before and after the fix, in the order of the rules, of all examples where they differ.

    Raises:
        UncountableError: the counted device has no model of an operator.
    """
    rows: list[dict[str, object]] = []
    with running():
        for rule, example in examples_of(rules):
            with left_as_it_was():
                found = count(example, fixed(rule, example).text)
            if found is not None and found[0] != found[1]:
                before, after = map(dataclasses.asdict, found)
                named = {"code": rule.code, "example": example.name, "size": size_of(example)}
                rows.append({**named, "before": before, "after": after, **_special(example)})
    return rows


def text_of(
    machine: object, rows: Sequence[dict[str, object]], counts: Sequence[dict[str, object]], rules: Sequence[type[Rule]]
) -> str:
    """The text of ``figures.json``: the rows in the order of the examples, and the examples that wait for their first.

    What an example says of its workload now holds: its size in words, how often it runs, and what one run is.
    """
    examples = {(rule.code, example.name): example for rule, example in examples_of(rules)}
    order = {key: place for place, key in enumerate(examples)}
    found = []
    for row in rows:
        example = examples.get((str(row["code"]), str(row["example"])))
        if example is not None:  # examples come and go
            plain = {name: value for name, value in row.items() if name not in ("runs", "unit")}
            found.append({**plain, "size": size_of(example), **_special(example)})
    found.sort(key=lambda row: (order[row["code"], row["example"]], row["device"]))
    measured = {(row["code"], row["example"]) for row in found}
    here = [(rule.code, example.name) for rule, example in examples_of(rules) if not rule.cuda_only]
    waiting = [{"code": code, "example": name} for code, name in here if (code, name) not in measured]
    data = {"machine": machine, "figures": found, "waiting": waiting, "counts": counts}
    return json.dumps(data, indent=1) + "\n"


def _special(example: Example) -> dict[str, object]:
    """How often the workload runs, and what one run is, where that is not one call."""
    told = {"runs": (example.runs, 1), "unit": (example.unit, "call")}
    return {name: value for name, (value, usual) in told.items() if value != usual}


if __name__ == "__main__":
    sys.exit(main())
