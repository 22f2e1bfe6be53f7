"""What writes programs around each rule with a safe fix."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from torchlint.rules.tl4_allocation.module_built_per_call import twins

from fuzz.fixes.agents import acting, collecting
from fuzz.fixes.asking import asking
from fuzz.fixes.distributing import distributing
from fuzz.fixes.growing import growing
from fuzz.fixes.indexing import indexing
from fuzz.fixes.learners import batches, following, precision, targets
from fuzz.fixes.masking import masking
from fuzz.fixes.program import Program
from fuzz.fixes.readbacks import reading
from fuzz.fixes.recording import recording
from fuzz.fixes.replaying import replaying
from fuzz.fixes.surroundings import Surroundings, around

_COMMENTS = (
    *(
        "# noqa: TL101",
        "# noqa: TL102, TL104",
        "# torchlint: ignore[TL4]",
        "# torchlint: ignore",
        "# noqa: E501,TL101 the line is long",
    ),
    *(
        "# torchlint: ignore[cpu-then-move] why not",
        "# type: ignore  # noqa: TL209",
        "# noqa: TL401",
        "# noqa:TL105,E501",
    ),
)


def _comments(code: str, choice: random.Random) -> Program:
    """A program with comments that silence nothing (TL909)."""
    program = around(choice.choice(("TL101", "TL102", "TL409", "TL412")), choice)
    rows = program.text.split("\n")
    places = [index for index, row in enumerate(rows) if row.strip() and not row.rstrip().endswith((":", "\\"))]
    for index in choice.sample(places, min(len(places), 3)):
        if choice.random() < 0.7:
            rows[index] += f"  {choice.choice(_COMMENTS)}"
        else:
            indent = rows[index][: len(rows[index]) - len(rows[index].lstrip())]
            rows[index] = f"{indent}# torchlint: ignore[TL2] five of them\n{rows[index]}"
    return Program(code, "\n".join(rows), program.setup, program.call, program.inputs)


_LITERALS = {
    "dim": ("1", "-1", "0", "None"),
    "inplace": ("True", "False"),
    "reduction": ('"none"', '"sum"', '"mean"'),
    "beta": ("0.5", "1", "2.0"),
    "delta": ("0.5", "2"),
    "approximate": ('"tanh"', '"none"'),
    "p": ("0.5", "0.1", "1", "2"),
    "start_dim": ("0", "1"),
    "end_dim": ("-1", "1"),
    "ignore_index": ("-100", "1"),
    "label_smoothing": ("0.1",),
    "log_target": ("True",),
    "log_input": ("False", "True"),
    "full": ("True",),
    "eps": ("1e-6",),
    "margin": ("0.5", "1"),
    "negative_slope": ("0.2",),
    "alpha": ("0.5", "1.5"),
    "threshold": ("1", "0.5"),
    "value": ("3.0", "0"),
    "lambd": ("0.3",),
    "min_val": ("-2", "-0.5"),
    "max_val": ("2", "0.5"),
    "lower": ("0.1",),
    "upper": ("0.4",),
    "swap": ("True",),
    "keepdim": ("True",),
}
_NEEDED = {"Threshold": ("threshold", "value")}


def _modules(code: str, choice: random.Random) -> Program:
    """Modules that are built where they are called (TL403)."""
    writer = Surroundings(choice, deepest=choice.choice((1, 2)))
    writer.take()
    name = choice.choice(sorted(twins()))
    twin, short = twins()[name], name.rpartition(".")[2]
    words = [word for word, meant in twin.settings.items() if meant is not None and word in _LITERALS]
    picked = [word for word in words if word in _NEEDED.get(short, ()) or choice.random() < 0.4]
    settings = ", ".join(f"{word}={choice.choice(_LITERALS[word])}" for word in picked)
    given = choice.choice(("<T>", "<T>", "<U>", "<T>.float()"))
    data = ", ".join([given] + [choice.choice((given, "<T>", "<T>.float()")) for _ in range(twin.inputs - 1)])
    if choice.random() < 0.3:
        first = writer.random.choice(writer.leaves["T"])
        data = ", ".join([first] * twin.inputs)
    if choice.random() < 0.4:
        rows = [f"module = nn.{short}({settings})", *writer.body(f"module({data})", before=1)]
    else:
        rows = writer.body(f"nn.{short}({settings})({data})")
    return writer.program(code, rows, writer.result(rows))


_RECORDING = 0.3
"""How many of the programs that read numbers keep them in records."""
GENERATORS: Mapping[str, Callable[[str, random.Random], Program]] = {
    **dict.fromkeys(("TL101", "TL102", "TL104", "TL105", "TL209", "TL401", "TL409", "TL412", "TL611"), around),
    "TL107": indexing,
    "TL201": asking,
    "TL202": masking,
    "TL203": lambda code, choice: (recording if choice.random() < _RECORDING else reading)(code, choice),
    "TL204": recording,
    "TL205": distributing,
    "TL208": asking,
    "TL301": acting,
    "TL302": acting,
    "TL303": collecting,
    "TL306": targets,
    "TL403": _modules,
    "TL405": growing,
    "TL603": following,
    "TL704": replaying,
    "TL706": batches,
    "TL905": precision,
    "TL909": _comments,
}
"""What writes programs around each rule."""
