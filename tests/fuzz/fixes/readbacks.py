"""Programs around losses that are read back: returned, logged, kept, summed and listed in and after loops (TL203)."""

from __future__ import annotations

import random

from fuzz.fixes.agents import HEADER, READERS, indented
from fuzz.fixes.program import Given, Program
from torchlint.rule import Change

_DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
_PARTS = (
    *("error.square().mean()", "error.abs().mean()", "F.mse_loss(self.net(x), torch.zeros_like(x))", "error.sum()"),
    *("error.double().mean()", "error.mean().half()", "self.scale.exp()", "self.scale", "(error > 0).sum()"),
    *("error.mean(-1).amax()", "error.mean(0)[0]", "error.mean().reshape(1)", "self.wide.mean()", "self.wide"),
)
_READS = ("{x}.item()", "{x}.item()", "float({x})", "{x}.detach().item()", "{x}.cpu().item()", "int({x})")
_AROUND = (
    *("{x}", "{x}", "{x}.mean()", "{x}.exp()", "({x} * 2)", "({x} + {y})", "-{x}", "{x}.detach()"),
    *("self.last({x})", "{x}.mul_(1)"),
)
_BETWEEN = (
    *("self.count += 1", "self.decay()", "print('between')", "x = x + 1", "a = b", "# how it goes", "pass"),
    "self.scale.data.mul_(0.5)",
)
_ROUNDS = ("for x in batches:", "for x in reversed(batches):", "for number, x in enumerate(batches):")
_LEAVING = (
    *("if len(batches) > 2:\n    break", "if len(batches) > 1:\n    continue", "if {name} is None:\n    return 0"),
    *("print({name})", "if self.count > 3:\n    return {name}", "self.seen = {name}"),
)
_ENDS = ("return {name}", "print({name})\nreturn {name}", "return {name} / 2", "self.kept.append({name})")
_LIST_ENDS = ("return {name}", "print({name}[-1:])\nreturn max({name}, default=0)", "return sum({name})", "return None")


def _losses(choice: random.Random) -> list[str]:
    parts = [choice.choice(_PARTS) for _ in range(3)]
    rows = ["error = self.net(x.to(device))"]
    rows += [f"{name} = {part}" for name, part in zip("abc", parts, strict=True)]
    trained = " + ".join(choice.sample("abc", choice.randint(1, 3)))
    rows += ["self.optimizer.zero_grad()", f"({trained}).mean().backward()", "self.optimizer.step()"]
    return rows if choice.random() < 0.9 else rows[:-3]


def _read(choice: random.Random) -> str:
    one, other = choice.sample("abc", 2)
    inner = choice.choice(_AROUND if choice.random() < 0.4 else ("{x}",)).format(x=one, y=other)
    return choice.choice(_READS if choice.random() < 0.4 else _READS[:1]).format(x=inner)


def _collected(choice: random.Random) -> list[str]:
    """Tensors in a list or a dict, and a comprehension that reads each."""
    listed, parts = choice.random() < 0.6, [choice.choice("abc") for _ in range(choice.randint(0, 3))]
    made = f"[{', '.join(parts)}]" if listed else f"{{{', '.join(f'{part!r}: {part}' for part in parts)}}}"
    rows = [f"held = {made}"]
    if choice.random() < 0.3:
        rows.append("held.append(b.detach())" if listed else "held['last'] = b.detach()")
    read = choice.choice(_READS).format(x="part")
    form = f"[{read} for part in held]" if listed else f"{{name: {read} for name, part in held.items()}}"
    around = (
        "self.kept.append({x})",
        "print({x})",
        "self.kept.append(len({x}))",
        "numbers = {x}\nself.kept.append(numbers)",
    )
    return [*rows, *choice.choice(around).format(x=form).split("\n")]


def _kept(choice: random.Random) -> str:
    """One statement that reads, of those that stand next to others."""
    return choice.choice(
        (
            *("self.sums['{name}'] += {read}", "self.kept.append({read})", "self.total += {read}", "{name} = {read}"),
            *("{name} = {read} if self.count else 0.0", "self.sums['{name}'] = {read}  # of this round"),
            *(
                "print({read})",
                "self.note({read})",
                "self.kept.append([{read}, {other}])",
                "{name}, {name}2 = {read}, {other}",
            ),
        )
    ).format(name=choice.choice("pqr"), read=_read(choice), other=_read(choice))


def _statistics(choice: random.Random) -> list[str]:
    """Reductions of one tensor of a dtype that the text may or may not tell, read one after the other."""
    base = choice.choice(
        ("error", "error", "x", "error.detach()", "(error > 0).long()", "error.double()", "error * 1j")
    )
    most = () if base.endswith("1j") else ("torch.max({x})", "{x}.max()", "torch.min({x})", "{x}.min()")
    exact = base.endswith("long()")
    forms = (*most, *(() if exact else ("torch.mean({x})", "{x}.mean()")), "torch.sum({x})", "{x}.sum()")
    rows = [f"data = {base}"] if choice.random() < 0.7 else []
    tensor = "data" if rows else f"({base})"
    for _ in range(choice.randint(2, 4)):
        rows.append(f"self.kept.append({choice.choice(forms).format(x=tensor)}.item())")
        if choice.random() < 0.15:
            rows.append(choice.choice(("data = x", "self.decay()", "data = error", "pass")))
    return rows


def _neighbours(choice: random.Random) -> list[str]:
    """Reads next to each other in a method."""
    rows = _losses(choice)
    if choice.random() < 0.3:
        rows += _collected(choice)
    if choice.random() < 0.3:
        rows += _statistics(choice)
    for _ in range(choice.randint(1, 4)):
        rows.append(_kept(choice))
        if choice.random() < 0.25:
            rows.append(choice.choice(_BETWEEN))
    one, two, three = (_read(choice) for _ in range(3))
    rows.append(
        choice.choice(
            (
                *(f"return {one}, {two}", f"return ({one}, {two}, {three})", f"return {{'one': {one}, 'two': {two}}}"),
                *(f"return dict(\n    one={one},\n    two={two},  # the other\n)", f"return [{one}, {two}]"),
                f"row = {{'one': {one}, 'two': {two}, 'three': {three}}}\nself.kept.append(row)",
                *(f"return f'{{{one}:.2f}} {{{two}:.2f}}'", "return None", f"return {one}"),
            )
        )
    )
    return rows


def _over_a_loop(choice: random.Random) -> list[str]:
    """Sums and lists over the rounds of a loop."""
    name, listed = choice.choice(("total", "seen")), choice.random() < 0.4
    begin = choice.choice(("[]", "[]", "list()")) if listed else choice.choice(("0.0", "0", "0.0", "1.5", "-0.0"))
    rows = [f"{name} = {begin}"]
    other = choice.random() < 0.3
    if other:
        rows = [f"{name}, other = {begin}, 0.0"] if choice.random() < 0.5 else [*rows, "other = 0.0"]
    inner = _losses(choice)
    kept = _read(choice)
    if choice.random() < 0.3:
        inner.append(f"number = {kept}")
        kept = "number"
        if choice.random() < 0.3:
            inner.append(choice.choice(("number = number * 2", "print(number)", "number2 = number", "self.count += 1")))
    inner.append(f"{name}.append({kept})" if listed else f"{name} += {kept}")
    if other:
        inner.append(f"other += {_read(choice)}")
    if choice.random() < 0.2:
        inner.append(inner[-1])
    if choice.random() < 0.4:
        inner += choice.choice(_LEAVING).format(name=name).split("\n")
    loop = [choice.choice(_ROUNDS), *("    " + row for row in inner)]
    if choice.random() < 0.15:
        loop += ["else:", choice.choice(("    self.count += 1", f"    print({name})"))]
    depth = choice.random()
    if depth < 0.25:
        loop = ["for epoch in range(2):", *("    " + row for row in loop)]
        if choice.random() < 0.4:
            loop.append(f"    print({name})")
        if choice.random() < 0.3:
            loop = [*loop[:1], *("    " + row for row in rows), *loop[1:]]
    elif depth < 0.35:
        loop = ["try:", *("    " + row for row in loop), "except ValueError:", f"    print({name})"]
    elif depth < 0.45:
        loop = ["with torch.enable_grad():", *("    " + row for row in loop)]
    rows += loop
    if other:
        rows.append("self.kept.append(other)")
    return [*rows, *choice.choice(_LIST_ENDS if listed else _ENDS).format(name=name).split("\n")]


def reading(code: str, choice: random.Random) -> Program:
    """Losses that are read back in updates."""
    over = choice.random() < 0.5
    rows = _over_a_loop(choice) if over else [*_ROUNDS[:1], "    self.kept.append(self.learn(x))", "return None"]
    body, learn = indented("\n".join(rows), 2), indented("\n".join(_neighbours(choice)), 2)
    read = choice.choice(READERS).format(call="learner.update(batches)")
    text = (
        f"{_DEVICE}\n\nclass Learner:\n    def __init__(self):\n        self.net = nn.Linear(3, 3).to(device)\n"
        "        self.scale = nn.Parameter(torch.zeros((), device=device))\n"
        "        self.wide = nn.Parameter(torch.ones(1, device=device))\n"
        "        self.optimizer = torch.optim.SGD([*self.net.parameters(), self.scale, self.wide], lr=0.1)\n"
        "        self.count, self.total, self.kept, self.seen = 0, 0.0, [], None\n"
        "        self.sums = {'p': 0.0, 'q': 0.0, 'r': 0.0}\n\n"
        "    def decay(self):\n        self.scale.data.mul_(0.9)\n        return self.count\n\n"
        "    def last(self, value: torch.Tensor):\n        self.count += 1\n        return value * self.count\n\n"
        "    def note(self, value):\n        self.total = value\n\n"
        f"    def learn(self, x: torch.Tensor):\n{learn}\n"
        f"    def update(self, batches: list[torch.Tensor]):\n{body}\n\n"
        f"def main(learner: Learner, batches):\n    for _ in range(2):\n        {read}\n\n\n"
        'if __name__ == "__main__":\n    main(Learner(), None)\n'
    )
    return Program(
        code,
        HEADER + "\n\n" + text,
        "learner = Learner()",
        "lambda batches: main(learner, batches)",
        (Given("batches", "tensors of rows"),),
        "[learner.net, learner.scale, learner.kept, learner.total, learner.sums, learner.count, learner.seen]",
        accept=(Change.ORDER, Change.MEMORY),
    )
