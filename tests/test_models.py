"""The table of models: its schema, its form, and whether what it says of a library is so in the installed one."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torchlint.rules
from conftest import HAS_TORCH

import torchlint.engine
import torchlint.facts
import torchlint.rule
from torchlint import models
from torchlint.models import ATTRIBUTES, Names, WrongRowError, check_rows, method_names, shipped
from torchlint.models.schema import SECTIONS

TABLE = Path(models.__file__).parent / "library.json"


def rows() -> Iterator[tuple[str, str, str]]:
    """Section, owner and name of each row."""
    for section, owners in shipped().items():
        for owner, names in owners.items():
            for name in names:
                yield section, owner, name


def written(table: models.Rows) -> str:
    """The table with one row in a line."""
    sections = []
    for section, owners in table.items():
        blocks = []
        for owner, names in owners.items():
            lines = ",\n".join(f'   "{name}": {json.dumps(row)}' for name, row in names.items())
            blocks.append(f'  "{owner}": {{\n{lines}\n  }}')
        sections.append(f' "{section}": {{\n' + ",\n".join(blocks) + "\n }")
    return "{\n" + ",\n".join(sections) + "\n}\n"


def test_each_row_fits_the_schema_and_stands_in_a_line() -> None:
    assert check_rows(json.loads(TABLE.read_text(encoding="utf-8")), (*SECTIONS, "operations")) == shipped()
    assert TABLE.read_text(encoding="utf-8") == written(shipped())


@pytest.mark.once
@pytest.mark.skipif(not HAS_TORCH, reason="needs torch")
def test_each_name_is_in_the_installed_library() -> None:
    missing = []
    for section, owner, name in rows():
        if "removed" in shipped()[section][owner][name]:
            continue
        found = (
            [exists(owner, name)] if section != "operations" else [exists(owner, name), exists(f"{owner}.Tensor", name)]
        )
        missing += [f"{owner}.{name}"] if False in found else []
    assert missing == []


@pytest.mark.once
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not HAS_TORCH, reason="needs torch")
def test_what_ends_a_graph_in_the_table_ends_it_in_torch() -> None:
    """Each operation is tried with arguments until torch takes them; the few that need other ones are not counted."""
    tried = {name: keeps_graph(name) for name in {*KEEPING.split(), *method_names("torch.Tensor torch")}}
    ends = method_names("torch.Tensor torch", graph="ends")
    assert [name for name, kept in tried.items() if kept is not None and kept is (name in ends)] == []
    assert [*tried.values()].count(None) < len(tried) / 2


KEEPING = "abs bernoulli clamp clone double exp flatten floor max mean round sign softmax sort topk unique view"


def keeps_graph(name: str) -> bool | None:
    """Whether the tensor that a method returns is part of the graph of its tensor; ``None`` where it returns none."""
    import torch

    one = torch.rand(2, 3).requires_grad_()
    for arguments in ((), (0,), (one,), (0, 1), ((3, 2),), (one > 0.5,), (torch.float32,), (1, 1)):
        try:
            made = getattr(one, name)(*arguments)
        except (TypeError, ValueError, RuntimeError, IndexError, AssertionError):
            continue
        first = made[0] if isinstance(made, tuple) and made else made
        return first.requires_grad if isinstance(first, torch.Tensor) else None
    return None


def exists(owner: str, name: str) -> bool | None:
    """Whether a class or module has a name; ``None`` where nothing that is installed has its owner."""
    parts = owner.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            if not hasattr(found, part):
                return None
            found = getattr(found, part)
        return hasattr(found, name) or name in getattr(found, "__annotations__", ())
    return None


@pytest.mark.parametrize(
    ("row", "message", "end"),
    [
        ({}, "expected a table", ()),
        ({"add": "element"}, "'add' is not one of ", ("add",)),
        ({"adds": "all"}, "'all' is not one of element, elements", ("adds",)),
        ({"removes": 1}, "expected true, not 1", ("removes",)),
    ],
)
def test_a_row_that_cannot_be_is_one_clear_error(row: object, message: str, end: tuple[str, ...]) -> None:
    with pytest.raises(WrongRowError) as caught:
        check_rows({"methods": {"a.B": {"put": row}}})
    assert caught.value.message.startswith(message)
    assert caught.value.path == ("methods", "a.B", "put", *end)


def test_a_section_that_is_unknown_is_one_clear_error() -> None:
    with pytest.raises(WrongRowError, match="'method' is not one of functions, methods"):
        check_rows({"method": {}})


def test_a_query_takes_owners_and_attributes() -> None:
    assert set(method_names("list", adds=True)) == {"append", "insert", "extend"}
    assert set(method_names("list", adds="element", at=False)) == {"append"}
    assert "setdefault" in method_names("dict", returns=("element", "copy"))
    assert len(method_names("list", adds=True, returns="element")) == 0
    assert method_names("deque")["insert"] == {"adds": "element", "at": 1}


@pytest.mark.once
def test_each_query_in_the_code_selects_something_by_known_attributes() -> None:
    """A query with a slip of the pen would select nothing, without a word."""
    found: list[Names] = []
    for package in (torchlint.facts, torchlint.engine, torchlint.rule, torchlint.rules):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(info.name)
            found += [value for value in vars(module).values() if isinstance(value, Names)]
    queries = [query for names in found for query in names.queries]
    assert len(queries) > 100
    assert [query for query in queries if not query.where.keys() <= ATTRIBUTES.keys()] == []
    assert [query for query in queries if not any(query.rows())] == []
