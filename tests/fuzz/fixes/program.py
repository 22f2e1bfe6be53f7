"""One random program: its text, what it is given, and how it is run."""

from __future__ import annotations

from dataclasses import dataclass

from torchlint.rule import Change


@dataclass(frozen=True)
class Given:
    """A parameter of a program.

    Attributes:
        name: of the parameter.
        kind: what the code may rely on: ``array``, ``tensor``, ``arrays`` and ``tensors`` (lists of them), ``integer``,
            ``number``, ``truth``, ``environment``; ``anything`` where the code says nothing about it.
    """

    name: str
    kind: str


@dataclass(frozen=True)
class Program:
    """A program around one rule.

    Attributes:
        code: of the rule that it is written for.
        text: a whole module.
        setup: statements run in the module's namespace before it is driven.
        call: what is called with the inputs, in the order of ``inputs``.
        inputs: the parameters.
        state: an expression for what the program keeps, compared after each call; empty: nothing.
        learn: what is called with the same inputs after the first call, as a training step; empty: nothing.
        accept: what fixes may change here besides nothing. Nothing of it but rounding and the like, which are told by
            name, may be seen in a result.
    """

    code: str
    text: str
    setup: str
    call: str
    inputs: tuple[Given, ...]
    state: str = ""
    learn: str = ""
    accept: tuple[Change, ...] = ()

    @property
    def workload(self) -> str:
        """The expression that runs the program and notes all that comes of it."""
        given = ", ".join(parameter.name for parameter in self.inputs)
        state, learn = (f"lambda: {text}" if text else "None" for text in (self.state, self.learn))
        return f"drive(({self.call}), [{given}], {state}, {learn})"
