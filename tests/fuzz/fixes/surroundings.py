"""Programs around one line: parameters, statements before it, and the hot code that runs it."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Sequence

from fuzz.filling import Filler
from fuzz.fixes.grammar import EXPRESSIONS, LEAVES, LINES, NOISE
from fuzz.fixes.program import Given, Program

_TARGET = re.compile(r"<([a-z])>")
_HEADERS = (
    "import numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n",
    "import torch\nimport numpy as np\nfrom torch import nn\n",
    "import numpy as np\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n",
)
_NAMES = (
    "obs",
    "x",
    "state",
    "batch",
    "reward",
    "done",
    "data",
    "q",
    "values",
    "logits",
    "action",
    "mask",
    "h",
    "goal",
)
# How parameters are annotated, the letter of what they may be used as, and their kind.
_PARAMETERS = (
    *(("", "U", "anything"),) * 6,
    *((": np.ndarray", "A", "array"),) * 3,
    *((": torch.Tensor", "T", "tensor"),) * 3,
    (": list[np.ndarray]", "R", "arrays"),
    (": list[torch.Tensor]", "V", "tensors"),
    (": int", "I", "integer"),
    (": int", "X", "start"),
    (": float", "N", "number"),
)
_INDENT = "    "
_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.ListComp)


class Surroundings(Filler):
    """Writes a program around a line of one rule."""

    def __init__(self, choice: random.Random, deepest: int = 2) -> None:
        """Begin a program: the leaves are copied, for names of the program are added to them."""
        leaves = {letter: list(texts) for letter, texts in LEAVES.items()}
        leaves["X"] = ["3"]
        super().__init__(choice, leaves, {**EXPRESSIONS, "X": ("<X>",)}, deepest)
        self.given: list[Given] = []
        self.parameters: list[str] = []
        self.locals: list[str] = []

    def take(self, most: int = 3) -> None:
        """Choose the parameters; they are used far more often than constants."""
        for name in self.random.sample(_NAMES, self.random.randint(1, most)):
            annotation, letter, kind = self.random.choice(_PARAMETERS)
            self.given.append(Given(name, kind))
            self.parameters.append(name + annotation)
            self.known(letter, name)
            if (
                letter == "U" and self.random.random() < 0.5
            ):  # a value of unknown kind may be what the code takes it for
                self.known(self.random.choice("ATUN"), name)

    def known(self, letter: str, name: str) -> None:
        """Remember a name as an expression of a kind."""
        self.leaves[letter] = [*self.leaves[letter], *[name] * 6]

    def loose(self, text: str, rest: str) -> bool:
        """Whether an operator would take part of what follows, or of what stands before."""
        tight = not rest or rest[0] not in ",)]"
        return tight and not isinstance(ast.parse(text, mode="eval").body, _ATOMS)

    def statement(self, template: str) -> str:
        """A statement that may bind a new name."""
        bound: list[tuple[str, str]] = []

        def target(hole: re.Match[str]) -> str:
            name = f"{hole[1]}{len(self.locals) + len(bound)}"
            bound.append((hole[1].upper(), name))
            return name

        if "+=" in template and not self.locals:
            template = "<t> = <T>"
        if "+=" in template:
            return _TARGET.sub(lambda _: self.random.choice(self.locals), template)
        text = self.filled(_TARGET.sub(target, template))
        for letter, name in bound:
            self.known(letter, name)
            self.locals.append(name)
        return text

    def body(self, line: str, before: int = 3) -> list[str]:
        """Statements, the line, and what is given back."""
        rows = [self.statement(self.random.choice(NOISE)) for _ in range(self.random.randint(0, before))]
        rows.append(f"found = {self.filled(line)}")
        if self.random.random() < 0.2:
            rows.append(f"more = {self.filled(line)}")
        return rows

    def result(self, rows: Sequence[str]) -> str:
        """What a program gives back: all that it made."""
        names = ["found", *(["more"] if any(row.startswith("more") for row in rows) else []), *self.locals]
        return f"({', '.join(names)},)" if self.random.random() < 0.8 else "found"

    def program(self, code: str, rows: Sequence[str], result: str) -> Program:
        """The rows in hot code of some kind."""
        frame = self.random.choice(_FRAMES)
        text, setup, call = frame(self, list(rows), result)
        header = self.random.choice(_HEADERS)
        if self.random.random() < 0.06:
            header += f"\ntorch.set_default_dtype(torch.{self.random.choice(('float16', 'float64', 'bfloat16'))})\n"
        return Program(code, header + "\n\n" + text, setup, call, tuple(self.given))


def around(code: str, choice: random.Random) -> Program:
    """A program around one of the lines of a rule."""
    writer = Surroundings(choice, deepest=choice.choice((1, 2, 2, 3)))
    writer.take()
    rows = writer.body(choice.choice(LINES[code]))
    return writer.program(code, rows, writer.result(rows))


def _block(rows: Sequence[str], level: int) -> str:
    return "".join(f"{_INDENT * level}{row}\n" for row in rows)


def _guarded(writer: Surroundings, rows: list[str]) -> list[str]:
    """The rows, perhaps with some of them under a condition or a guard."""
    if writer.random.random() < 0.75:
        return rows
    guard = writer.random.choice(
        ("with torch.no_grad():", "if True:", "for _ in range(2):", "with torch.inference_mode():")
    )
    return [guard, *(f"{_INDENT}{row}" for row in rows)]


def _in_update(writer: Surroundings, rows: list[str], result: str) -> tuple[str, str, str]:
    names = ", ".join(given.name for given in writer.given)
    text = (
        f"def work({', '.join(writer.parameters)}):\n{_INDENT}device = torch.device('cpu')\n"
        f"{_block([*_guarded(writer, rows), f'return {result}'], 1)}\n\n"
        "def train(net: nn.Module, optimizer, batches):\n"
        f"    for {names} in batches:\n"
        f"        loss = net(work({names})).mean()\n"
        "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n"
    )
    return text, "", "work"


def _in_method(writer: Surroundings, rows: list[str], result: str) -> tuple[str, str, str]:
    names = ", ".join(given.name for given in writer.given)
    device = writer.random.choice(("'cpu'", "'cuda' if torch.cuda.is_available() else 'cpu'"))
    text = (
        "class Agent:\n"
        "    def __init__(self):\n"
        f"        self.device = torch.device({device})\n"
        "        self.net = nn.Linear(3, 2).to(self.device)\n\n"
        f"    def act(self, {', '.join(writer.parameters)}):\n        device = self.device\n"
        f"{_block([*_guarded(writer, rows), f'return {result}'], 2)}\n\n"
        "def rollout(agent, env, steps):\n    env.reset()\n    for _ in range(steps):\n"
        f"        {names} = env.step(agent.act({names}))\n"
    )
    return text, "agent = Agent()", "agent.act"


def _in_loop(writer: Surroundings, rows: list[str], result: str) -> tuple[str, str, str]:
    """The rows in the very loop that steps an environment."""
    writer.given.append(Given("env", "environment"))
    if writer.random.random() < 0.5:
        rows = [re.sub(r"\b(obs|state)\b", "seen", row) for row in rows]
    text = (
        f"def work({', '.join([*writer.parameters, 'env'])}):\n    device = torch.device('cpu')\n    kept = []\n"
        "    seen, _ = env.reset()\n    for _ in range(2):\n        seen, gain, over, late, info = env.step(0)\n"
        f"{_block([*rows, f'kept.append({result})'], 2)}    return kept\n"
    )
    return text, "", "work"


def _helped(writer: Surroundings, rows: list[str], result: str) -> tuple[str, str, str]:
    """The rows in a helper of a method that updates."""
    names = ", ".join(given.name for given in writer.given)
    text = (
        "class Learner:\n"
        "    def __init__(self, device='cpu'):\n        self.device = device\n        self.net = nn.Linear(3, 1)\n"
        "        self.optimizer = torch.optim.Adam(self.net.parameters())\n\n"
        f"    def prepare(self, {', '.join(writer.parameters)}):\n        device = self.device\n"
        f"{_block([*_guarded(writer, rows), f'return {result}'], 2)}\n"
        f"    def update(self, {names}):\n        loss = self.net(self.prepare({names})).mean()\n"
        "        self.optimizer.zero_grad()\n        loss.backward()\n        self.optimizer.step()\n\n\n"
        "def train(learner, replay, updates):\n    for _ in range(updates):\n"
        "        learner.update(*replay.sample(64))\n"
    )
    return text, "learner = Learner()", "learner.prepare"


_FRAMES: tuple[Callable[[Surroundings, list[str], str], tuple[str, str, str]], ...] = (
    *(_in_update, _in_update, _in_method, _in_loop, _helped),
)
