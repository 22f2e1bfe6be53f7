"""The files in ``fixtures/<CODE>/``: what that rule and those named in them find there, and what their fixes make.

``torchlint.testing`` says what marks and twins mean; other rule packages use it as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from torchlint.testing import check_marks, check_names, check_twins, fixtures
from torchlint.testing.renaming import renamed

CASES = [
    pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in fixtures(Path(__file__).parent / "fixtures")
]


@pytest.mark.once
@pytest.mark.parametrize("path", CASES)
def test_the_marked_lines_are_found_and_fixes_make_the_twin(path: Path) -> None:
    """One test for both: the findings that the marks are held against are those whose fixes are applied."""
    check_marks(path)
    check_twins(path)


@pytest.mark.ninth
@pytest.mark.once
@pytest.mark.parametrize("path", CASES)
def test_other_names_for_torch_and_for_locals_change_nothing(path: Path) -> None:
    check_names(path)


SMELL = """\
import torch


def act(policy, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, *_ = env.step(policy(torch.FloatTensor([obs])))
"""
BETTER = SMELL.replace("torch.FloatTensor([obs])", "torch.as_tensor([obs], dtype=torch.float32)")


def written(folder: Path, **texts: str) -> Path:
    (folder / "TL101").mkdir()
    (folder / "pyproject.toml").write_text("[tool.ruff]\nline-length = 120\n")
    for name, text in texts.items():
        (folder / "TL101" / f"{name.replace('__', '.')}.py").write_text(text)
    return folder / "TL101" / "hot.py"


def test_a_wrong_mark_is_told_with_its_place(tmp_path: Path) -> None:
    marked = SMELL.replace("reset()", "reset()  # expect: TL101")
    path = written(tmp_path, hot=marked)
    with pytest.raises(AssertionError, match=r"hot\.py:7: TL101 is found, but not marked\n.*5: .* not found"):
        check_marks(path)
    with pytest.raises(AssertionError, match="is marked, but not found"):
        check_names(path)


def test_a_wrong_twin_is_told_with_the_difference(tmp_path: Path) -> None:
    path = written(tmp_path, hot=SMELL, hot__fixed=SMELL)
    with pytest.raises(AssertionError, match=r"(?s)--fix makes something else.*\+.*as_tensor"):
        check_twins(path)
    path.with_name("hot.fixed.py").write_text(BETTER)
    check_twins(path)


def test_a_twin_of_nothing_is_told(tmp_path: Path) -> None:
    written(tmp_path, cold__fixed=SMELL)
    with pytest.raises(AssertionError, match=r"twins of no fixture: .*cold\.fixed\.py"):
        fixtures(tmp_path)


def test_names_are_changed_where_nothing_else_binds_them() -> None:
    text = "import torch\n\n\ndef f(x):\n    y = torch.ones(1)\n    return y + x\n"
    assert renamed(text) == "import torch as th\n\n\ndef f(x):\n    my_y = th.ones(1)\n    return my_y + x\n"
