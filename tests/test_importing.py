"""Environment variables across files: what was imported before a file runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from linting import lint

pytestmark = pytest.mark.versions

SET = 'import os\n\nos.environ["OMP_NUM_THREADS"] = "1"\n'
FUNCTION = 'import os\n\n\ndef one_thread():\n    os.environ["OMP_NUM_THREADS"] = "1"\n'


def found(folder: Path, texts: dict[str, str]) -> list[str]:
    """The files in which a variable is set too late."""
    return [finding.path for finding in lint(folder, texts, select=("TL901",)).findings]


@pytest.mark.parametrize(
    ("main", "late"),
    [
        ("import torch\nimport threads\n", True),
        ("import threads\nimport torch\n", False),
        ("import agent\nimport threads\n", True),
        ("import threads\nimport agent\n", False),
        ('import os\nos.environ["OMP_NUM_THREADS"] = "1"\nimport torch\nimport threads\n', False),
        ('import os\nos.environ["MKL_NUM_THREADS"] = "1"\nimport torch\nimport threads\n', True),
    ],
)
def test_a_file_runs_where_it_is_imported(tmp_path: Path, main: str, late: bool) -> None:
    texts = {"threads.py": SET, "agent.py": "import torch\n", "main.py": main}
    assert found(tmp_path, texts) == (["threads.py"] if late else [])


def test_one_importer_in_time_is_enough_to_stay_silent(tmp_path: Path) -> None:
    texts = {
        "threads.py": SET,
        "late.py": "import torch\nimport threads\n",
        "early.py": "import threads\nimport torch\n",
    }
    assert found(tmp_path, texts) == []


@pytest.mark.parametrize("late", [True, False])
def test_a_function_runs_where_it_is_called(tmp_path: Path, late: bool) -> None:
    call, load = "threads.one_thread()\n", "import torch\n"
    main = "import threads\n" + (load + call if late else call + load)
    assert found(tmp_path, {"threads.py": FUNCTION, "main.py": main}) == (["threads.py"] if late else [])


def test_files_that_import_each_other_end(tmp_path: Path) -> None:
    texts = {"one.py": "import two\n" + SET, "two.py": "import one\nimport torch\n"}
    assert found(tmp_path, texts) == ["one.py"]
