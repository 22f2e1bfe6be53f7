"""The calls of a profile as a tree of the project's functions, with what they ran below them; for a picture."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.late import dataclass
from torchlint.profile.model import Attribution, Profile
from torchlint.profile.names import AUTOGRAD, called_name

# Of the whole; what is narrower cannot be seen.
_LEAST = 0.001
_LEAST_OPERATOR = 0.004


@dataclass(slots=True)
class Cell:
    """A function of the project in its calling context, or an operator that it ran.

    Attributes:
        parent: index into the list of all cells, smaller than the own one; -1 for a root.
        function: index into ``Attribution.functions``; -1 for an operator.
        operator: its name, empty for a function.
        us: with what it called. calls: 0 where only samples are known.
    """

    parent: int
    function: int
    operator: str
    us: float
    calls: int


def cells(profile: Profile, attribution: Attribution) -> list[Cell]:
    """Return the cells of project functions, with the cost of other functions that they called.

    Without stacks all cells are operators. Cells that are too narrow to be seen are left out.
    """
    found: list[Cell] = []
    keys: dict[tuple[int, int, str], int] = {}

    def cell(parent: int, function: int, operator: str) -> Cell:
        place = keys.setdefault((parent, function, operator), len(found))
        if place == len(found):
            found.append(Cell(parent, function, operator, 0.0, 0))
        return found[place]

    homes: list[int] = []
    for node in profile.nodes:
        home = homes[node.parent] if node.parent >= 0 else -1
        owner = attribution.owners[node.frame]
        # A function in itself, or another line of it, is not a new cell.
        if owner >= 0 and (home < 0 or found[home].function != owner):
            own = cell(home, owner, "")
            own.us += node.total_us
            own.calls += node.calls
            home = keys[home, owner, ""]
        homes.append(home)
    for each in profile.operators:
        home = homes[each.node] if each.node >= 0 else -1
        if not each.within and (home >= 0 or not profile.stacks):
            ran = cell(home, -1, called_name(each.name).removeprefix(AUTOGRAD))
            ran.us += each.total_us
            ran.calls += each.calls
    return list(_visible(found, profile.total_us))


def _visible(found: list[Cell], total_us: float) -> Iterator[Cell]:
    """The cells that are wide enough, with their new parents."""
    places: dict[int, int] = {-1: -1}
    for number, each in enumerate(found):
        least = (_LEAST_OPERATOR if each.operator else _LEAST) * total_us
        if each.us >= least and each.parent in places:
            places[number] = len(places) - 1
            each.parent = places[each.parent]
            yield each
