"""Loops over the samples of a rollout of a language model: prompts, answers, their scores and lengths."""

from __future__ import annotations

import ast
from dataclasses import field

from torchlint.facts.code.graph import CallGraph
from torchlint.facts.code.model import COMPREHENSIONS, FileFacts
from torchlint.facts.code.tree import first_index, names_in, walk
from torchlint.late import dataclass
from torchlint.models import Word

_SAMPLES = Word("samples of a language model")
_OTHERS = Word("no samples")
_TEXTS = Word("work with texts")
_SIZE = Word("size of a batch")


@dataclass(eq=False, slots=True)
class SampleLoops:
    """Answers whether each round of a loop takes one sample, with a memory."""

    graph: CallGraph = field(default_factory=CallGraph)
    _loops: dict[ast.AST, bool] = field(default_factory=dict)
    _files: dict[FileFacts, bool] = field(default_factory=dict)

    def of(self, facts: FileFacts, loop: ast.AST) -> bool:
        """Return whether a loop or comprehension, or a clause of one, goes over samples in a file about texts."""
        return self._goes_over(facts, loop) and not self._in_chunks(loop)

    def in_chunks(self, facts: FileFacts, loop: ast.AST) -> bool:
        """Return whether a loop goes over chunks of such samples."""
        return self._in_chunks(loop) and self._goes_over(facts, loop)

    def _goes_over(self, facts: FileFacts, loop: ast.AST) -> bool:
        found = self._loops.get(loop)
        if found is None:
            over = loop.generators[0] if isinstance(loop, COMPREHENSIONS) else loop
            names: list[str] = []
            if isinstance(over, (ast.For, ast.AsyncFor, ast.comprehension)):
                names = [*names_in(over.iter), *names_in(over.target), *_rows_taken(loop, over)]
            named = any(map(_SAMPLES.fits, names)) and not any(map(_OTHERS.fits, names))
            found = self._loops[loop] = named and self._handles_texts(facts)
        return found

    def _handles_texts(self, facts: FileFacts) -> bool:
        found = self._files.get(facts)
        if found is None:
            found = self._files[facts] = any(map(_TEXTS.fits, names_in(facts.top.node)))
        return found

    def _in_chunks(self, loop: ast.AST) -> bool:
        """Whether a loop goes over chunks of samples: ``range(0, len(samples), chunk_size)``.

        So do the rounds that a generator of the project makes which is given a size: ``samples.get(batch_size)``.
        """
        match loop.generators[0] if isinstance(loop, COMPREHENSIONS) else loop:
            case (
                ast.For(iter=ast.Call(func=func, args=args) as over)
                | ast.AsyncFor(iter=ast.Call(func=func, args=args) as over)
                | ast.comprehension(iter=ast.Call(func=func, args=args) as over)
            ):
                if isinstance(func, ast.Name) and func.id in ("range", "trange"):
                    return len(args) > 2
                given = (*args, *(keyword.value for keyword in over.keywords))
                taking = (taken for each in given for taken in self.graph.taking(over, each))
                return any(function.yields and _SIZE.fits(name) for function, name in taking)
        return False


def _rows_taken(loop: ast.AST, over: ast.For | ast.AsyncFor | ast.comprehension) -> list[str]:
    """The names of what a loop that counts the rows of a batch takes rows of.

    ``tokens`` and ``rewards`` of ``for i in range(states.shape[0]): memory.append((tokens[i], rewards[i, :]))``.
    """
    match over.target, over.iter:
        case ast.Name(id=counter), ast.Call(func=ast.Name(id="range"), args=[bound]) if _counts_rows(bound):
            taken = (node for node in walk(loop) if isinstance(node, ast.Subscript))
            rows = (node.value for node in taken if _is_named(first_index(node), counter))
            return [each.id for each in rows if isinstance(each, ast.Name)]
    return []


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _counts_rows(node: ast.expr) -> bool:
    """``states.shape[0]``, ``states.size(0)``."""
    match node:
        case (
            ast.Subscript(value=ast.Attribute(attr="shape"), slice=ast.Constant(value=0))
            | ast.Call(func=ast.Attribute(attr="size"), args=[ast.Constant(value=0)], keywords=[])
        ):
            return True
    return False
