"""What a run of the user's program showed of expressions: plain data, kept in a file of observations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.late import dataclass

if TYPE_CHECKING:
    from torchlint.rule.value import Value


@dataclass(frozen=True, slots=True, order=True)
class ExpressionKey:
    """An expression of a project, named so that edits of other statements leave the name as it is.

    Attributes:
        path: of the file, relative to the project root, with ``/``. function: qualified name, empty at module level.
        statement: digest of the statement without its spaces, of a compound one of the header alone.
        repeat: how many equal statements stand before it in the function.
        expression: the source text without line breaks. nth: how many equal expressions stand before it in the
            statement.
    """

    path: str
    function: str
    statement: str
    repeat: int
    expression: str
    nth: int


@dataclass(frozen=True, slots=True)
class Sight:
    """The different values that an expression was seen to have; empty: more different ones than are kept.

    The name of a class of the project is ``path:qualname`` here, since a run knows no module names of ours.
    """

    key: ExpressionKey
    saw: tuple[Value, ...]
