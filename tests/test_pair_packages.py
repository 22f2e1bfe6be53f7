"""Pairs the Python files of installed packages: real code, of which every file must pair."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest
from pairing import read_source, unpaired

from torchlint.engine.reference import whole_file

pytestmark = pytest.mark.packages
_LARGEST = 200_000


def files_of(package: str, folder: str) -> list[Path]:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    root = Path(spec.submodule_search_locations[0]) / folder
    return sorted(path for path in root.rglob("*.py") if path.stat().st_size < _LARGEST)


@pytest.mark.third
@pytest.mark.parametrize(
    ("package", "folder"),
    [
        ("torch", "distributions"),
        ("torch", "optim"),
        ("torch", "nn"),
        pytest.param("numpy", ".", marks=pytest.mark.long),
    ],
)
def test_every_file_pairs(package: str, folder: str) -> None:
    expressions = 0
    for path in files_of(package, folder):
        read = read_source(path)
        if read is None:
            continue
        pairs = whole_file(*read)
        assert unpaired(pairs, read[1]) == [], path
        expressions += sum(isinstance(twin, ast.expr) for _, twin in pairs)
    assert expressions > 10_000
