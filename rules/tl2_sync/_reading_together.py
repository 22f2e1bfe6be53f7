"""Several numbers read one by one that one copy could bring: how TL203 reads neighbours together."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from torchlint import cst
from torchlint.facts.analyses import Fact
from torchlint.facts.code.alike import alike
from torchlint.facts.code.model import COMPREHENSIONS, FileFacts
from torchlint.facts.code.naming import addable, fresh_name
from torchlint.facts.code.nesting import unconditional
from torchlint.facts.code.project import Project
from torchlint.facts.code.tree import walk
from torchlint.facts.state.effects import Effects, Sides, together
from torchlint.facts.values.values import Values
from torchlint.late import dataclass, regex
from torchlint.models import method_names
from torchlint.rule import Kind
from torchlint.rule.site import Site

from ._scalar_readback import Read, Readbacks
from ._single_numbers import READER, READING, Tensors, holds_comment, operand, text_of

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
_WORD = regex(r"[A-Za-z][A-Za-z0-9_]*")
_NUMBERS = (Kind.NUMBER, Kind.STRING)
_HOLDERS = (Kind.LIST, Kind.DICT, Kind.TUPLE)
TORCH = "{torch}"
"""What stands for the name of the module in texts."""
_MOST_MOVED = 2
"""The most tensors that are moved or flattened one by one; of more each is by one expression."""
_LONG = 60
"""The most characters of a tensor's expression that is moved or flattened where it stands."""
_MOST_UNPACKED = 8
"""The most numbers that get a name each; of more, tensors and numbers are kept under keys."""
_TENSORS, _NUMBERED = ("tensors", "tensors_to_read", "read_together"), ("numbers", "numbers_read", "numbers_of_tensors")
"""What the tensors and the numbers under keys are called: the first name that is free."""
_WIDEST = 88
"""The most characters of a row that begins the joined read; names that need more stand one below the other."""
_READ = " = torch.stack("
"""What stands behind the names in their row, where the read is split."""
_TO_HOST = method_names(moves="host")


@dataclass(frozen=True, slots=True)
class Together:
    """How the reads of neighbouring statements become one.

    Attributes:
        rows: the statements that read all of them, with ``TORCH`` for the module; empty where an expression
            that does takes the place of another.
        first: the statement before which they are read.
        replaced: expressions, and the text that takes the place of each.
        doubt: what is not proven, in words; empty: nothing.
        definitions: the source of the functions that these rows call.
    """

    rows: str
    first: ast.stmt
    replaced: tuple[tuple[ast.expr, str], ...]
    doubt: str
    definitions: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class _Run:
    """Neighbouring statements, and their reads."""

    stmts: list[ast.stmt]
    reads: list[Read]


@dataclass(eq=False, slots=True)
class ReadingTogether(Fact):
    """Finds reads next to each other, in one statement or in neighbours, that one copy can bring."""

    project: Project
    values: Values
    sides: Sides
    readbacks: Readbacks
    tensors: Tensors
    _floating: dict[ast.stmt, frozenset[ast.expr]] = field(default_factory=dict)
    _known: dict[tuple[ast.stmt, bool], list[_Run]] = field(default_factory=dict)
    _joint: dict[tuple[ast.Call, bool], Together | None] = field(default_factory=dict)

    def of(self, facts: FileFacts, call: ast.Call) -> tuple[Together, ...]:
        """Return how a read is combined with its neighbours: all of them first, then fewer where a proof needs that.

        Nothing where it has no neighbours, or cannot be done earlier.
        """
        stmt = facts.statement(call)
        if stmt is None or stmt not in facts.places or not isinstance(stmt, _SIMPLE):
            return ()
        if facts.scope_of(stmt).kind == "class":
            return ()
        block = facts.places[stmt][0]
        every = self._among(facts, block, call, proven=False)
        if every is None or not every.doubt:
            return () if every is None else (every,)
        fewer = self._among(facts, block, call, proven=True)
        return (every,) if fewer is None or fewer.doubt else (every, fewer)

    # which reads ----------------------------------------------------------------------------------------------------

    def _among(self, facts: FileFacts, block: Sequence[ast.stmt], call: ast.Call, *, proven: bool) -> Together | None:
        """A read and its neighbours in a block as one; only those that are proven to hold floating-point numbers."""
        runs = self._known.get((block[0], proven))
        if runs is None:
            only = self._proven(facts, block) if proven else None
            found = self._runs(facts, block, only)
            runs = self._known[block[0], proven] = [_Run([stmt for stmt, _ in run], _reads(run)) for run in found]
        run = next((run for run in runs if any(read.call is call for read in run.reads)), None)
        if run is None:
            return None
        key = run.reads[0].call, proven  # the answer is the same for each of them
        if key not in self._joint:
            distinct = {ast.dump(read.source) for read in run.reads}
            self._joint[key] = self._made(facts, run.stmts, run.reads) if len(distinct) > 1 else None
        return self._joint[key]

    def _proven(self, facts: FileFacts, block: Sequence[ast.stmt]) -> frozenset[ast.expr]:
        """The tensors read in a block that hold floating-point numbers in every run in which all reads succeed."""
        if block[0] not in self._floating:
            found: list[ast.expr] = []
            for run in self._runs(facts, block, None):
                sources = [read.source for _, members in run for read in members]
                found += self.tensors.floating_among(facts, sources)
                found += (node for node in sources if self.tensors.is_floating(facts, node))
            self._floating[block[0]] = frozenset(found)
        return self._floating[block[0]]

    def _runs(
        self, facts: FileFacts, block: Sequence[ast.stmt], only: frozenset[ast.expr] | None
    ) -> Iterator[list[tuple[ast.stmt, list[Read]]]]:
        """The neighbouring statements of a block whose reads can all be done before the first of them.

        ``only``: the reads of these tensors, else all.
        """
        run: list[tuple[ast.stmt, list[Read]]] = []
        for stmt in block:
            every = self._members(facts, stmt) if isinstance(stmt, _SIMPLE) else []
            members = [read for read in every if only is None or read.source in only]
            if run and (not every or self._depends(facts, [each for each, _ in run], members)):
                yield run
                run = []
            if members or (run and every):
                run.append((stmt, members))
        if run:
            yield run

    def _members(self, facts: FileFacts, stmt: ast.stmt) -> list[Read]:
        """The reads of a statement that run whenever it runs and that compute nothing besides, in order."""
        found = []
        for node in unconditional(stmt):
            read = self.readbacks.of(facts, node) if isinstance(node, ast.Call) else None
            if read is not None and not read.copied and read.how != "int()" and not holds_comment(facts, read.call):
                if self._is_pure(facts, read.source) and not _copies(read.source):
                    found.append(read)
        return sorted(found, key=lambda read: (read.call.lineno, read.call.col_offset))

    def _is_pure(self, facts: FileFacts, node: ast.expr) -> bool:
        """Whether an expression may as well be computed earlier, as long as what it reads is not changed meanwhile."""
        if isinstance(node, (ast.NamedExpr, ast.Await)) or self.tensors.is_whole(facts, node):
            return False
        parts = list(walk(node))
        if any(isinstance(part, (ast.NamedExpr, ast.Await, ast.Lambda, *COMPREHENSIONS)) for part in parts):
            return False
        effects = self.sides.of(facts, [node])
        return effects.known and not effects.writes and not effects.draws

    def _depends(self, facts: FileFacts, before: Sequence[ast.stmt], members: Sequence[Read]) -> bool:
        """Whether what reads take may be another before these statements than after them."""
        written = self._written(facts, before)
        return any(
            self.sides.overlaps(text, written) for read in members for text in self.sides.of(facts, [read.source]).reads
        )

    def _written(self, facts: FileFacts, stmts: Sequence[ast.stmt]) -> frozenset[str]:
        """The state and the names that statements change."""
        parts = (part for stmt in stmts for part in walk(stmt))
        names = {part.id for part in parts if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}
        return self.sides.of(facts, stmts).writes | names

    # proofs ---------------------------------------------------------------------------------------------------------

    def _made(self, facts: FileFacts, stmts: list[ast.stmt], reads: list[Read]) -> Together | None:
        """The reads as one, with what has to be assumed for it."""
        between = self._between(facts, stmts, reads)
        if between is None or any(self._is_tensor_target(facts, stmt) for stmt in stmts):
            return None
        open_doubts = list(self._doubts(facts, stmts[0], reads))
        reader = self._reader(facts, reads) if open_doubts else None
        asks = reader is not None
        doubt = "; ".join(between if asks else [*open_doubts, *between])
        definitions = (reader,) if reader is not None else ()
        distinct = {ast.dump(read.source): read.source for read in reads}
        whole = _whole(stmts, reads)
        if whole is not None and not (asks and any(map(_casts, reads))):
            joined = self._joined(facts, [read.source for read in reads], asks=asks)
            returned = isinstance(stmts[0], ast.Return)
            text = f"tuple({joined})" if returned else joined
            return Together("", stmts[0], ((whole, text),), doubt, definitions)
        rows, numbers = self._rows(facts, stmts[0], reads, list(distinct.values()), asks=asks)
        by_source = dict(zip(distinct, numbers, strict=True))
        texts = ((read, by_source[ast.dump(read.source)]) for read in reads)
        replaced = tuple((read.call, f"float({text})" if asks and _casts(read) else text) for read, text in texts)
        return Together(rows, stmts[0], replaced, doubt, definitions)

    def _reader(self, facts: FileFacts, reads: Sequence[Read]) -> str | None:
        """The function that asks what is read for its dtype and device, ``None`` where it may not be a tensor."""
        tensors = all(self.readbacks.on_device(facts, read.tensor) for read in reads)
        numbers = any(self._may_be_number(facts, read) for read in reads)
        return addable(facts, READING) if tensors and not numbers else None

    def _may_be_number(self, facts: FileFacts, read: Read) -> bool:
        """Whether a sum that a loop adds to is still the number that it begins with: ``float(total)`` reads that, too.

        Other numbers have no method ``item``.
        """
        if not _casts(read) or not isinstance(read.source, ast.Name):
            return False
        begun = (binding.value for binding in self.project.bound_to(facts, read.source) if not binding.path)
        return any(value is not None and self.values.of(facts, value).kind is Kind.NUMBER for value in begun)

    def _rows(
        self, facts: FileFacts, first: ast.stmt, reads: Sequence[Read], sources: Sequence[ast.expr], *, asks: bool
    ) -> tuple[str, list[str]]:
        """The statements that read some tensors at once, and what each of the numbers is called then."""
        names = _fresh_names(facts, reads)
        if len(names) <= _MOST_UNPACKED:
            targets = _targets(names, _WIDEST - first.col_offset - len(_READ))
            return f"{targets} = {self._joined(facts, sources, asks=asks)}", names
        tensors, numbers = (_free(facts, first, stems) for stems in (_TENSORS, _NUMBERED))
        part = fresh_name(facts, first, "part")
        keys = [f'"{key}"' for key in _keys(facts, reads, names)]
        held = (f"    {key}: {text_of(facts, node)}," for key, node in zip(keys, sources, strict=True))
        each = self._each(facts, part, sources)
        parts = f"[{each} for {part} in {tensors}.values()]" if each != part else f"list({tensors}.values())"
        joined = f"{READER}(list({tensors}.values()))" if asks else f"{TORCH}.stack({parts}).tolist()"
        rows = [f"{tensors} = {{", *held, "}", f"{numbers} = dict(zip({tensors}, {joined}))"]
        return "\n".join(rows), [f"{numbers}[{key}]" for key in keys]

    def _each(self, facts: FileFacts, part: str, sources: Sequence[ast.expr]) -> str:
        """What is done to each of some tensors before they are stacked; what needs nothing stays as it is."""
        anchor = self._anchor(facts, sources)
        there = f".to({text_of(facts, anchor)}.device)" if anchor is not None else ""
        return f"{part}{max(self.tensors.flattening(facts, node) for node in sources)}{there}"

    def _joined(self, facts: FileFacts, sources: Sequence[ast.expr], *, asks: bool) -> str:
        """The expression that reads some tensors at once, by a function that ``asks`` whether they can be stacked.

        What is not proven to lie where one of them lies is moved there, which does nothing to what lies there already.
        """
        if asks:
            return f"{READER}([{', '.join(text_of(facts, node) for node in sources)}])"
        anchor = self._anchor(facts, sources)
        flat = [self.tensors.flattening(facts, node) for node in sources]
        device = f"{text_of(facts, anchor)}.device" if anchor is not None else ""
        moved = [
            f".to({device})" if anchor is not None and not self._is_beside(facts, anchor, node) else ""
            for node in sources
        ]
        texts = [text_of(facts, node) for node in sources]
        changed = [text for text, *steps in zip(texts, flat, moved, strict=True) if any(steps)]
        many = max(sum(map(bool, flat)), sum(map(bool, moved))) > _MOST_MOVED
        if many or any(len(text) > _LONG for text in changed):
            part = fresh_name(facts, sources[0], "part")
            return f"{TORCH}.stack([{self._each(facts, part, sources)} for {part} in ({', '.join(texts)})]).tolist()"
        texts = [
            f"{operand(facts, node)}{flattened}{there}" if flattened or there else text
            for node, text, flattened, there in zip(sources, texts, flat, moved, strict=True)
        ]
        return f"{TORCH}.stack([{', '.join(texts)}]).tolist()"

    def _anchor(self, facts: FileFacts, sources: Sequence[ast.expr]) -> ast.expr | None:
        """The tensor that most of the others are proven to lie beside, if a short name; ``None``: all do, or none."""
        if self.tensors.on_one_device(facts, sources):
            return None
        named = [node for node in sources if isinstance(node, ast.Name)]
        return max(named, key=lambda node: sum(self._is_beside(facts, node, each) for each in sources), default=None)

    def _is_beside(self, facts: FileFacts, anchor: ast.expr, node: ast.expr) -> bool:
        return alike(anchor, node) or self.tensors.on_one_device(facts, [anchor, node])

    def _doubts(self, facts: FileFacts, first: ast.stmt, reads: Sequence[Read]) -> Iterator[str]:
        """What is not proven of the tensors: their device where none of them has a name, their dtypes."""
        nodes = [read.source for read in reads]
        wrong = []
        if any(self._may_be_number(facts, read) for read in reads):
            wrong.append("were added up in at least one round")
        if not self.tensors.on_one_device(facts, nodes) and self._anchor(facts, nodes) is None:
            wrong.append("lie on one device")
        floating = self._proven(facts, facts.places[first][0])
        if not floating.issuperset(nodes):
            wrong.append("hold numbers of one kind, floating-point or whole")
        if wrong:
            yield f"the tensors {_listed(wrong)}"

    def _between(self, facts: FileFacts, stmts: Sequence[ast.stmt], reads: Sequence[Read]) -> list[str] | None:
        """What is not proven of the code that runs before a read and would run after it; ``None``: it changes it."""
        inner = {part for read in reads for part in walk(read.call)}
        outer = set(facts.ancestors(reads[-1].call))
        calls = [
            part
            for stmt in stmts
            for part in unconditional(stmt)
            if isinstance(part, ast.Call) and part not in inner and part not in outer
        ]
        effects: Effects = together(self.sides.call(facts, call) for call in calls)
        texts = {text for read in reads for text in self.sides.of(facts, [read.source]).reads}
        if any(self.sides.overlaps(text, effects.writes) for text in texts):
            return None
        if effects.known and not any(self._is_open_target(facts, stmt) for stmt in stmts[:-1]):
            return []
        return ["what runs between the reads leaves the tensors as they are"]

    def _is_tensor_target(self, facts: FileFacts, stmt: ast.stmt) -> bool:
        """Whether a statement writes into a tensor, of which another may be a view."""
        target = _changed(stmt)
        return target is not None and self.values.of(facts, target).kind is Kind.TENSOR

    def _is_open_target(self, facts: FileFacts, stmt: ast.stmt) -> bool:
        """Whether a statement changes something in place of which it is not known whether it is a tensor."""
        target = _changed(stmt)
        return target is not None and self.values.of(facts, target).kind not in (*_NUMBERS, *_HOLDERS)


def _casts(read: Read) -> bool:
    """Whether a read gives a float whatever the tensor holds."""
    return read.how == "float()"


def _copies(node: ast.expr) -> bool:
    """Whether an expression copies to the host before it goes on: ``x.cpu().float()`` waits, read together or not."""
    calls = (part.func for part in walk(node) if isinstance(part, ast.Call))
    return any(isinstance(func, ast.Attribute) and func.attr in _TO_HOST for func in calls)


def _reads(run: Iterable[tuple[ast.stmt, list[Read]]]) -> list[Read]:
    return [read for _, members in run for read in members]


def _changed(stmt: ast.stmt) -> ast.expr | None:
    """What a statement changes in place rather than binds: ``x`` of ``x += 1`` and of ``x[i] = 1``."""
    if isinstance(stmt, ast.AugAssign):
        return stmt.target
    if isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Subscript):
        # What is indexed by a string is not a tensor.
        return None if _is_string(stmt.targets[0].slice) else stmt.targets[0].value
    return None


def _is_string(node: ast.expr) -> bool:
    text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return text or isinstance(node, ast.JoinedStr)


def _whole(stmts: Sequence[ast.stmt], reads: Sequence[Read]) -> ast.expr | None:
    """The tuple that a statement returns, or unpacks, and that consists of all reads."""
    stmt = stmts[0]
    if len(stmts) != 1 or not isinstance(stmt, (ast.Return, ast.Assign)) or not isinstance(stmt.value, ast.Tuple):
        return None
    calls = [read.call for read in reads]
    if len(calls) != len(stmt.value.elts) or any(
        one is not two for one, two in zip(calls, stmt.value.elts, strict=True)
    ):
        return None
    if isinstance(stmt, ast.Return):
        return stmt.value
    target = stmt.targets[0]
    unpacked = isinstance(target, ast.Tuple) and not any(isinstance(part, ast.Starred) for part in target.elts)
    return stmt.value if unpacked and len(stmt.targets) == 1 else None


def _targets(names: Sequence[str], widest: int) -> str:
    """The left side of the statement that gives numbers their names."""
    row = ", ".join(names)
    return row if len(row) <= widest else "\n".join(["(", *(f"    {name}," for name in names), ")"])


def _stem(facts: FileFacts, read: Read) -> str:
    """What the number of a tensor is called: ``loss_value`` of ``loss``, ``kl_mean`` of ``kl.mean()``.

    What has no name of its own is called after the key or the name that takes it.
    """
    called = _called(read.source)
    if isinstance(read.source, ast.Call) and called:
        return called
    called = called or _taken_by(facts, read.call)
    return f"{called}_number" if called.endswith("value") else f"{called}_value" if called else "number"


def _taken_by(facts: FileFacts, call: ast.Call) -> str:
    """The key of a dictionary, or the name, that a number is stored under."""
    match facts.parent.get(call):
        case ast.Dict(keys=keys, values=values):
            key = keys[values.index(call)]
            word = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
            return word if _WORD.fullmatch(word) else ""
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
            return name
        case ast.Assign(targets=[ast.Subscript(slice=ast.Constant(value=str(key)))]) if _WORD.fullmatch(key):
            return key
    return ""


def _fresh_names(facts: FileFacts, reads: Sequence[Read]) -> list[str]:
    """New names for the numbers of different tensors, after what they are called; their function has no such words."""
    names: dict[str, str] = {}
    for read in reads:
        key = ast.dump(read.source)
        if key not in names:
            names[key] = fresh_name(facts, read.source, _stem(facts, read), names.values())
    return list(names.values())


def _free(facts: FileFacts, node: ast.AST, stems: Sequence[str]) -> str:
    """The first name that is new to the function around a node; the last one with a number where none is."""
    return next((stem for stem in stems if fresh_name(facts, node, stem) == stem), fresh_name(facts, node, stems[-1]))


def _keys(facts: FileFacts, reads: Sequence[Read], names: Sequence[str]) -> list[str]:
    """The keys of the tensors behind some numbers: what each is stored under, else its name."""
    first: dict[str, Read] = {}
    for read in reads:
        first.setdefault(ast.dump(read.source), read)
    keys: dict[str, None] = {}
    for read, name in zip(first.values(), names, strict=True):
        key = _taken_by(facts, read.call)
        keys[key if key and key not in keys else name] = None
    return list(keys)


def _called(node: ast.expr) -> str:
    """What an expression is called: ``loss`` of ``x.loss``, ``kl_mean`` of ``torch.mean(kl)``, ``q`` of ``x["q"]``."""
    match node:
        case ast.Name(id=name):
            return name.strip("_")
        case ast.Attribute(attr=name):
            return name.strip("_")
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr=name), args=[first, *_]) if _called(first):
            return f"{_called(first)}_{name.strip('_')}"
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if _called(inner):
            return f"{_called(inner)}_{name.strip('_')}"
        case ast.Subscript(slice=ast.Constant(value=str(key))) if _WORD.fullmatch(key):
            return key
        case ast.Subscript(value=inner):
            return _called(inner)
    return ""


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def reads_together(site: Site, call: cst.Call) -> tuple[Together, ...]:
    """Return how a read becomes one with its neighbours, the widest way first; nothing where it has none."""
    twin = site.expression(call)
    return site.fact(ReadingTogether).of(site.file, twin) if isinstance(twin, ast.Call) else ()
