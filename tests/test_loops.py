"""What goes round in a loop: programs that mark an expression, and its part in the innermost loop around it."""

from __future__ import annotations

import ast
import textwrap

import pytest
from projects import Code

from torchlint.facts.loops.ends import MOST_BINDINGS
from torchlint.facts.loops.growth import Growth
from torchlint.facts.loops.loops import Loops
from torchlint.rule import Loop

HEAD = """
import torch
from torch import nn

net = nn.Linear(3, 3)
cell = nn.GRUCell(3, 3)
"""


def loops(program: str) -> tuple[Loop, ...]:
    """The loops around the expression between the marks."""
    text = textwrap.dedent(HEAD) + textwrap.dedent(program)
    row = next(row for row, line in enumerate(text.splitlines(), 1) if "\u00ab" in line)
    marked = text.splitlines()[row - 1]
    shown = marked[marked.index("\u00ab") + 1 : marked.index("\u00bb")]
    code = Code(text.replace("\u00ab", "").replace("\u00bb", ""))
    row -= text.index("import")  # the leading line break is dropped
    column = marked.index("\u00ab")
    nodes = [n for n in code.expressions() if (n.lineno, n.col_offset) == (row, column)]
    node = next(n for n in nodes if ast.unparse(n) == ast.unparse(ast.parse(shown, mode="eval")))
    return code.analyses[Loops].of(code.file(), node)


def part(program: str) -> set[str]:
    """The names of the properties that the marked expression has in its innermost loop; ``x?`` for not known."""
    loop = loops(program)[0]
    fields = ("few", "counted", "joined", "learns", "item", "carried", "feeds", "collected", "leaves", "draws")
    found = {name for name in fields if getattr(loop, name)}
    return found | {f"{name}?" for name in fields if getattr(loop, name) is None}


PROGRAMS = {
    "known before": (
        """
        def f(xs):
            out = []
            for x in xs:
                y = «net(x)»
                out.append(y)
            return torch.stack(out)
        """,
        {"item", "collected", "leaves"},
    ),
    "the recurrence itself": (
        """
        def f(xs, h):
            for x in xs:
                h = «cell(x, h)»
            return h
        """,
        {"item", "carried", "feeds", "leaves"},
    ),
    "only read from the recurrence": (
        """
        def f(xs, h):
            rewards = []
            for x in xs:
                h = cell(x, h)
                rewards.append(«net(h)»)
            return rewards
        """,
        {"item", "carried", "collected", "leaves"},
    ),
    "the same in every round": (
        """
        def f(xs, w):
            total = 0
            for x in xs:
                total += x * «w.exp()»
            return total
        """,
        {"collected", "leaves"},
    ),
    "summed by hand": (
        """
        def f(xs):
            total = 0
            for x in xs:
                loss = «net(x).mean()»
                total = total + loss
            return total
        """,
        {"item", "collected", "leaves"},
    ),
    "a sum that the loop reads": (
        """
        def f(xs):
            total = 0
            for x in xs:
                total += «x.mean()»
                print(total)
        """,
        {"item", "feeds"},
    ),
    "an advantage by recurrence": (
        """
        def f(rewards, values):
            last = 0
            out = torch.zeros(10)
            for t in reversed(range(10)):
                last = «rewards[t] + 0.99 * last - values[t]»
                out[t] = last
            return out
        """,
        {"counted", "item", "carried", "feeds", "collected", "leaves"},
    ),
    "a name set again in each round": (
        """
        def f(xs):
            for x in xs:
                y = x + 1
                z = «y * 2»
                y = z
        """,
        {"item"},
    ),
    "an attribute that an earlier round set": (
        """
        class A:
            def f(self, xs):
                for x in xs:
                    self.h = «cell(x, self.h)»
        """,
        {"item", "carried", "feeds", "leaves"},
    ),
    "an attribute set earlier in the round": (
        """
        class A:
            def f(self, xs):
                out = []
                for x in xs:
                    self.z = net(x)
                    out.append(«net(self.z)»)
                return out
        """,
        {"item", "collected", "leaves"},
    ),
    "state behind a helper": (
        """
        class A:
            def __init__(self):
                self.h = torch.zeros(3)

            def act(self, x):
                self.h = cell(x, self.h)
                return self.h

            def f(self, xs):
                out = []
                for x in xs:
                    out.append(«self.act(x)»)
                return out
        """,
        {"item", "carried", "collected", "leaves"},
    ),
    "a helper without state": (
        """
        class A:
            def __init__(self):
                self.net = nn.Linear(3, 3)

            def value(self, x):
                return self.net(x).squeeze()

            def f(self, xs):
                out = []
                for x in xs:
                    out.append(«self.value(x)»)
                return out
        """,
        {"item", "collected", "leaves"},
    ),
    "a network that the loop trains": (
        """
        def f(xs, optimizer):
            for x in xs:
                loss = «net(x).mean()»
                loss.backward()
                optimizer.step()
        """,
        {"item", "carried", "learns"},
    ),
    "an environment": (
        """
        import gymnasium as gym

        def f():
            env = gym.make("CartPole-v1")
            obs, _ = env.reset()
            while True:
                action = «net(torch.as_tensor(obs)).argmax()»
                obs, reward, done, _, _ = env.step(action.item())
        """,
        {"carried", "feeds"},
    ),
    "an environment of unknown kind": (
        """
        def f(world, obs):
            for _ in range(10):
                obs = world.move(«net(obs)»)
        """,
        {"counted", "carried", "feeds"},
    ),
    "a function that is not known": (
        """
        def f(xs, g):
            out = []
            for x in xs:
                out.append(«g(x)»)
            return out
        """,
        {"item", "carried?", "collected", "leaves"},
    ),
    "random numbers": (
        """
        def f(n):
            return [«torch.randn(3)» for _ in range(n)]
        """,
        {"counted", "draws", "collected", "leaves"},
    ),
    "items of a dict": (
        """
        def f(batch: dict):
            return {k: «v.float()» for k, v in batch.items()}
        """,
        {"item", "few", "collected", "leaves"},
    ),
    "a literal": (
        """
        def f(a, b):
            for x in (a, b):
                y = «x + 1»
        """,
        {"item", "few"},
    ),
    "a list of the same round": (
        """
        def f(xs):
            for x in xs:
                parts = []
                parts.append(«x + 1»)
                y = torch.stack(parts)
        """,
        {"item", "joined"},
    ),
    "a list that the next round reads": (
        """
        def f(xs):
            seen = [xs[0]]
            for x in xs:
                seen.append(«x + seen[-1]»)
        """,
        {"item", "carried", "feeds"},
    ),
    "what ends the loop": (
        """
        def f(xs):
            for x in xs:
                if «x.any()»:
                    break
        """,
        {"item", "feeds"},
    ),
    "a row that the round writes behind it": (
        """
        def f(n):
            x = torch.zeros(n, 4)
            for i in range(n):
                print(«x[i, 0].cpu()»)
                x[i, -1] = 1
        """,
        {"item", "counted"},
    ),
    "a column that each round writes behind it": (
        """
        def f(n):
            x = torch.zeros(4, n)
            for i, y in enumerate(g(n)):
                print(«x[:, i].cpu()»)
                x[:1, i] = y
        """,
        {"item"},
    ),
    "a row of what goes from round to round": (
        """
        def f(n, h):
            x = torch.zeros(n, 4)
            for i in range(n):
                h = cell(h)
                x[i] = h
                print(«x[i].cpu()»)
        """,
        {"item", "counted", "carried"},
    ),
    "a row where the round writes another one": (
        """
        def f(n):
            x = torch.zeros(n, 4)
            for i in range(n):
                print(«x[i].cpu()»)
                x[i + 1] = 1
        """,
        {"item", "counted", "carried"},
    ),
    "a row where the round writes a column": (
        """
        def f(n):
            x = torch.zeros(n, 4)
            for i in range(n):
                print(«x[i].cpu()»)
                x[:, i] = 1
        """,
        {"item", "counted", "carried"},
    ),
    "a row where a function may write another one": (
        """
        def f(n):
            x = torch.zeros(n, 4)
            def g(i):
                x[i + 1] = 1
            for i in range(n):
                print(«x[i].cpu()»)
                x[i] = 1
                g(i)
        """,
        {"item", "counted", "carried"},
    ),
    "decided by what was carried": (
        """
        def f(xs):
            last = 0
            for x in xs:
                y = 1
                if last > 3:
                    y = 2
                z = «y + 1»
                last = last + x
        """,
        {"item", "carried"},
    ),
    "growing by cat": (
        """
        def f(xs, out):
            for x in xs:
                out = torch.cat([out, «net(x)»])
            return out
        """,
        {"item", "collected", "leaves"},
    ),
    "the last one is read": (
        """
        def f(xs):
            for x in xs:
                y = «net(x)»
            return y
        """,
        {"item", "leaves"},
    ),
    "an inner loop": (
        """
        def f(xs):
            h = xs[0]
            for x in xs:
                for k in range(3):
                    y = «x * 2»
        """,
        {"few", "counted"},
    ),
    "stacked afterwards": (
        """
        def f(xs, d):
            out = []
            for x in xs:
                out.append((x, «x.to(d)»))
            both = list(out)
            return torch.stack(both)
        """,
        {"item", "collected", "joined", "leaves"},
    ),
    "stacked at once": (
        """
        def f(xs, d):
            return torch.stack([«x.to(d)» for x in xs])
        """,
        {"item", "collected", "joined", "leaves"},
    ),
    "a while loop": (
        """
        def f(x):
            while x.sum() > 0:
                x = «x - 1»
        """,
        {"carried", "feeds"},
    ),
    "an object of this round": (
        """
        def f(envs):
            out = []
            for env in envs:
                env.advance()
                out.append(«env.state»)
            return out
        """,
        {"item", "collected", "leaves"},
    ),
}


@pytest.mark.parametrize(("program", "expected"), PROGRAMS.values(), ids=PROGRAMS.keys())
def test_the_part_of_an_expression_in_its_loop(program: str, expected: set[str]) -> None:
    assert part(program) == expected


def test_of_a_name_with_very_many_bindings_nothing_is_known() -> None:
    head, row, last = "def f(x, n):\n    for _ in range(n):\n", "        x = x * 2\n", "        net(«x»)\n"
    assert part(head + row * (MOST_BINDINGS - 1) + last) == {"carried", "counted"}
    assert part(head + row * MOST_BINDINGS + last) == {"carried?", "counted"}


def test_an_inner_loop_comes_first_and_the_outer_one_knows_its_items() -> None:
    inner, outer = loops(
        """
        def f(envs, action):
            return [{k: «action[k][i]» for k in ("move", "turn")} for i in range(len(envs))]
        """
    )
    assert (inner.comprehension, inner.few, inner.item) == (True, True, True)
    assert (outer.comprehension, outer.few, outer.item, outer.collected) == (True, False, True, True)


def test_independent_rounds_may_be_computed_at_once() -> None:
    apart, recurrence = (
        loops(f"def f(xs, h):\n    for x in xs:\n        {line}\n    return h\n")[0]
        for line in ("y = «net(x)»", "h = «cell(x, h)»")
    )
    assert apart.independent
    assert not recurrence.independent


GROWN = {
    "a sum": ("total += loss", "total"),
    "a sum by name": ("total = total + loss", "total"),
    "a sum the other way round": ("total = loss + total", "total"),
    "a list": ("losses.append(loss)", "losses"),
    "a list in a dict": ("stats['loss'].append(loss)", "stats['loss']"),
    "an item of a dict": ("stats['loss'] += loss", "stats['loss']"),
    "in a tuple": ("losses.append((step, loss))", "losses"),
    "a method that adds": ("tracker.keep(loss)", "self.kept"),
    "a method that adds, by keyword and in a tuple": ("tracker.keep(value=(1, loss))", "self.kept"),
    "a method that calls another": ("tracker.keep_twice(loss)", "self.kept"),
    "a method that does not": ("tracker.show(loss)", ""),
    "a sum of this round": ("part = 0; part += loss", ""),
    "a list of this round": ("part = []; part.append(loss)", ""),
    "another sum": ("y = total + loss", ""),
    "a difference": ("total -= loss", ""),
    "what is done to it first": ("losses.append(loss.item())", ""),
}


@pytest.mark.parametrize(("line", "expected"), GROWN.values(), ids=GROWN.keys())
def test_what_an_expression_is_added_to(line: str, expected: str) -> None:
    code = Code(
        f"""
        class Tracker:
            def __init__(self):
                self.kept = []

            def keep(self, value):
                self.kept.append(value)

            def keep_twice(self, item):
                self.keep(item)

            def show(self, value):
                print(value)

        def train(batches, net):
            total, losses, stats, tracker = 0, [], {{"loss": []}}, Tracker()
            for step, batch in enumerate(batches):
                loss = net(batch)
                {line}
            return total, losses, stats, tracker
        """
    )
    growth, facts = code.analyses[Growth], code.file()
    grown = {growth.of(facts, node) for node in code.expressions() if ast.unparse(node) == "loss"}
    assert grown - {""} == ({expected} if expected else set())
    added = [node for node in growth.added(facts, lambda _: True) if ast.unparse(node) == "loss"]
    assert {growth.of(facts, node) for node in added} == grown - {""}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("self.losses.append(loss)", "self.losses"),
        ("self.total += loss", "self.total"),
        ("self.total = self.total + loss", "self.total"),
        ("self.losses = []; self.losses.append(loss)", ""),
        ("losses = []; losses.append(loss)", ""),
    ],
)
def test_a_function_without_a_loop_adds_to_its_object(body: str, expected: str) -> None:
    code = Code(f"class A:\n    def update(self, batch):\n        loss = self.net(batch); {body}\n")
    assert {code.analyses[Growth].of(code.file(), node) for node in code.expressions()} == {expected} | {""}
