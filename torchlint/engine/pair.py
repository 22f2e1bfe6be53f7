"""Pairs the LibCST nodes of a statement with its ``ast`` nodes by walking both trees in lockstep.

Facts are keyed by ``ast`` nodes and rules see LibCST nodes; this is the bridge between the two.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import libcst as cst

from torchlint.engine.grammar import PairingError, PairWalk
from torchlint.engine.parents import is_statement, parents_of
from torchlint.engine.statements import HANDLERS

__all__ = ["Pairs", "PairingError", "pair"]


class Pairs:
    """Two trees of the same source, node by node.

    Nodes are looked up by identity. Both trees must be left alone and live as long as this object, which keeps them.
    """

    __slots__ = ("_items", "_nodes", "_parents", "_twins", "_wrappers", "root", "twin")

    def __init__(
        self,
        root: cst.CSTNode,
        twin: ast.AST,
        items: list[tuple[cst.CSTNode, ast.AST]],
        wrappers: dict[int, ast.AST],
    ) -> None:
        """Keep the pairs of a walk that began at ``root`` and ``twin``; ``wrappers`` as in ``PairWalk``."""
        self.root = root
        self.twin = twin
        self._items = items
        self._twins = {id(node): other for node, other in items}
        self._wrappers = wrappers
        self._nodes: dict[int, cst.CSTNode] | None = None
        self._parents: dict[int, cst.CSTNode] | None = None

    def __iter__(self) -> Iterator[tuple[cst.CSTNode, ast.AST]]:
        """All pairs in the order of the source, a node before its parts."""
        return iter(self._items)

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self._items)

    def __contains__(self, node: cst.CSTNode) -> bool:
        """Whether a LibCST node belongs to this tree; false for one that a rule built itself."""
        return id(node) in self._twins or id(node) in self._wrappers or node is self.root or id(node) in self._up()

    def ast_of(self, node: cst.CSTNode) -> ast.AST | None:
        """Return the ``ast`` twin of a LibCST node, ``None`` if it has none.

        A wrapper that ``ast`` does not know (``Arg``, ``Element``, ``SubscriptElement``, ``Index``, ``Annotation``,
        ``Decorator``, ``AssignTarget``, ``ComparisonTarget``, ...) answers for what it wraps. Without a twin are the
        inner nodes of ``a and b and c`` and of ``'a' 'b'``, the name after a dot, texts in f-strings, operators,
        patterns of ``match``, whitespace, and nodes of other trees.
        """
        return self._twins.get(id(node)) or self._wrappers.get(id(node))

    def cst_of(self, node: ast.AST) -> cst.CSTNode | None:
        """Return the LibCST twin of an ``ast`` node, never a mere wrapper.

        ``None`` where LibCST has none: the tuple of ``x[a, b]``, the texts and the format of an f-string, contexts
        and operators, and nodes of other trees.
        """
        if self._nodes is None:
            self._nodes = {id(twin): item for item, twin in self._items}
        return self._nodes.get(id(node))

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node that holds another one in its statement.

        The result is ``None`` for a statement and for nodes of other trees.

        Wrappers that carry no value of their own are passed over: the parent of an argument is the ``Call``, of an
        element the ``List``, ``Dict`` or ``Tuple``, of an index the ``Subscript``, of any operand the ``Comparison``,
        of a condition or iterable of a comprehension its ``CompFor``, of a decorator the ``FunctionDef``. Not passed
        over are ``StarredElement``, ``Slice``, ``Param``, ``WithItem``, ``CompFor`` and the parts of f-strings.
        """
        return self._up().get(id(node))

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the innermost statement that holds a node, or the node itself if it is one.

        Raises:
            TypeError: the node is of another tree, or is the module.
        """
        current: cst.CSTNode | None = node
        while current is not None:
            if is_statement(current) and id(current) in self._twins:
                return current
            current = self.parent(current)
        raise TypeError(f"{type(node).__name__} is in no statement of this tree")

    def _up(self) -> dict[int, cst.CSTNode]:
        if self._parents is None:
            self._parents = parents_of(self.root)
        return self._parents


def pair(statement: ast.AST, node: cst.CSTNode, header_only: bool) -> Pairs:
    """Pair the two trees of one statement.

    Args:
        statement: an ``ast`` statement, or a module.
        node: the same as LibCST: a small statement, a line that holds just that one, a compound statement, a module.
        header_only: leave out the bodies of compound statements.

    Raises:
        PairingError: the trees do not say the same.
    """
    root = _only_statement(node)
    walk = PairWalk(header_only)
    items: list[tuple[cst.CSTNode, ast.AST]] = []
    stack: list[tuple[cst.CSTNode, ast.AST]] = [(root, statement)]
    while stack:
        item = stack.pop()
        part, twin = item
        entry = HANDLERS.get(type(part))
        if entry is None or not isinstance(twin, entry[0]):
            raise PairingError(f"{type(part).__name__} does not pair with {type(twin).__name__}")
        items.append(item)
        children: Sequence[tuple[cst.CSTNode, ast.AST]] = entry[1](walk, part, twin)
        if children:
            stack.extend(reversed(children))
    return Pairs(root, statement, items, walk.wrappers)


def _only_statement(node: cst.CSTNode) -> cst.CSTNode:
    if not isinstance(node, cst.SimpleStatementLine):
        return node
    if len(node.body) != 1:
        raise PairingError(f"a line of {len(node.body)} statements instead of one")
    return node.body[0]
