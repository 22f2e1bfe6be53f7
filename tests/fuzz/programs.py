"""Random programs: small agents and training loops in the many ways in which people lay out code."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from fuzz.filling import Filler
from fuzz.grammar import COMPOUND, ENDS, EXPRESSIONS, EXTRAS, HEADERS, LEAVES, SIMPLE

_INDENTS = ("    ", "    ", "    ", "  ", "\t", "   ")
_CLASS = (
    "class Agent(nn.Module):",
    "{i}def __init__(self, env, device='cpu'):",
    "{i}{i}super().__init__()",
    "{i}{i}self.net = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 2)).to(device)",
    "{i}{i}self.target = nn.Linear(4, 2)",
    "{i}{i}self.opt = torch.optim.Adam(self.net.parameters())",
    "{i}{i}self.device, self.memory, self.count, self.total = device, [], 0, 0",
)
_LOOP = (
    "def train(env, agent):",
    "{i}obs, step, total, rewards, loss = env.reset(), 0, 0, [], 0",
    "{i}while True:",
    "{i}{i}action = agent.act(obs)",
    "{i}{i}next_obs, reward, done, info = env.step(action)",
    "{i}{i}agent.update([obs, next_obs], reward, step)",
)

_FEW = (
    "import torch",
    "import numpy as np",
    "",
    "def run(env, x, rewards, device, gamma):",
    "{i}obs, step = env.reset(), 0",
    "{i}while True:",
    "{i}{i}obs, reward, done, info = env.step(x)",
)


class Writer(Filler):
    """Writes one program; everything that it does follows from the seed."""

    def __init__(self, seed: str) -> None:
        """Begin a program."""
        super().__init__(random.Random(seed), LEAVES, EXPRESSIONS)
        self.indent = self.random.choice(_INDENTS)
        self.comments = 0

    def program(self) -> str:
        """A whole program."""
        header = self.random.choice(HEADERS)
        header += "".join(extra for extra in EXTRAS if self.random.random() < 0.5)
        rows = [*self._class(), "", "", *self._loop()]
        if self.random.random() < 0.3:
            rows += ["", "", "def helper(x, obs, gamma=0.99):", *self.block(1, 2)]
        if self.random.random() < 0.2:
            rows.insert(0, self.comment())
        return self._ended(header + "\n" + "\n".join(rows) + "\n")

    def loop(self) -> str:
        """A program of a few rows: a loop over steps of an environment with a statement or two in it."""
        rows = [row.format(i=self.indent) for row in _FEW]
        return self._ended("\n".join([*rows, *self.block(2, 2)]) + "\n")

    def block(self, level: int, most: int) -> Iterator[str]:
        """The rows of a block of statements."""
        count = self.random.randint(1, most)
        for _ in range(count):
            if level < 5 and self.random.random() < 0.2:
                yield from self._compound(level)
            else:
                yield self._row(level, self.statement(SIMPLE))

    def statement(self, templates: tuple[str, ...]) -> str:
        """A statement as someone may lay it out."""
        text = self.filled(self.random.choice(templates))
        if self.random.random() < 0.15:
            text = self._broken(text)
        if self.random.random() < 0.06:
            text += "; " + self.filled(self.random.choice(SIMPLE))
        return text

    def comment(self) -> str:
        """A comment that no other place has."""
        self.comments += 1
        word = self.random.choice(("why", "é速", "TODO:", "noqa: E501", "type: ignore", "fmt: off", "#"))
        return f"# {word} {self.comments}"

    def _row(self, level: int, text: str) -> str:
        row = self.indent * level + text
        chance = self.random.random()
        if chance < 0.12:
            return f"{row}  {self.comment()}"
        return f"{self.indent * level}{self.comment()}\n{row}" if chance < 0.2 else row

    def _compound(self, level: int) -> Iterator[str]:
        head = self.filled(self.random.choice(COMPOUND))
        if self.random.random() < 0.1:
            head = "if done:" if head == "try:" else head
            yield f"{self.indent * level}{head} {self.filled(self.random.choice(SIMPLE))}"
            return
        yield self._row(level, head)
        yield from self.block(level + 1, 3)
        if head == "try:":
            yield self.indent * level + "except (RuntimeError, ValueError) as error:"
            yield from self.block(level + 1, 1)
        elif self.random.random() < 0.2 and not head.startswith("with"):
            yield self.indent * level + "else:"
            yield from self.block(level + 1, 2)

    def _class(self) -> Iterator[str]:
        for row in _CLASS:
            yield row.format(i=self.indent)
        for head, most in (("def act(self, obs):", 4), ("def update(self, batch, reward, step, gamma=0.99):", 6)):
            yield ""
            if self.random.random() < 0.1:
                yield self.indent + self.random.choice(("@torch.no_grad()", "@staticmethod", "@torch.jit.ignore"))
            yield self.indent + head
            if self.random.random() < 0.2:
                yield f'{self.indent * 2}"""Text with torch.FloatTensor(obs) and # no comment."""'
            yield from self.block(2, most)
            if self.random.random() < 0.7:
                yield self._row(2, self.statement(ENDS[:4]))

    def _loop(self) -> Iterator[str]:
        for row in _LOOP:
            yield row.format(i=self.indent)
        yield from self.block(2, 4)
        yield from (f"{self.indent * 2}{row}" for row in ("obs = next_obs", "step += 1"))

    def _broken(self, text: str) -> str:
        """A statement over several rows, perhaps with comments."""
        depth, quote, rows = 0, "", []
        for place, sign in enumerate(text):
            if quote:
                quote = "" if sign == quote else quote
            elif sign in "'\"":
                quote = sign
            depth += (not quote) * ((sign in "([{") - (sign in ")]}"))
            before = rows[-1] if rows else ""
            if depth > 0 and not quote and sign in "([," and self.random.random() < 0.4 and text[place + 1 :].strip():
                note = f"  {self.comment()}" if self.random.random() < 0.5 else ""
                rows.append(f"{sign}{note}\n{self.indent * self.random.randint(0, 4)}")
                continue
            rows.append("" if sign == " " and before.endswith(tuple(" \t\n")) else sign)
        return "".join(rows)

    def _ended(self, text: str) -> str:
        """The text with newlines of some kind, and perhaps odd ends."""
        chance = self.random.random()
        if chance < 0.08:
            text = text.replace("\n", "\r\n")
        elif chance < 0.11:
            text = text.replace("\n", "\r")
        elif chance < 0.14:
            text = re.sub("\n", lambda _: self.random.choice(("\n", "\r\n", "\r")), text)
        elif chance < 0.17:
            text = "\f" + text.replace("\n\n", "\n\f\n")
        return text.rstrip("\r\n") if self.random.random() < 0.1 else text
