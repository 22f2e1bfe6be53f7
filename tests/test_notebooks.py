"""Notebooks: their code cells are linted and fixed in place, and nothing else in the file changes."""

import json
import re

import nbformat
import pytest
from conftest import in_this_process
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sarif_pydantic import Sarif
from test_cli_flags import git
from test_cli_whole import AGENT, NEW, OLD

from torchlint.sources.decode import UndecodableError, read_any
from torchlint.sources.notebook import parse_notebook, place_in_cells, split_cells

pytestmark = pytest.mark.versions

HEAD, TRAIN = AGENT.split("def train")
HEAD, TRAIN = HEAD.strip("\n"), f"def train{TRAIN}".strip("\n")


def notebook_of(*cells, **metadata):
    """A notebook of code cells, and text cells that begin with a number sign and a blank."""
    made = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "P"}, **metadata})
    for source in cells:
        kind = nbformat.v4.new_markdown_cell if source.startswith("# text") else nbformat.v4.new_code_cell
        made.cells.append(kind(source))
    nbformat.validate(made)
    return made


def text_of(*cells, **metadata):
    return nbformat.writes(notebook_of(*cells, **metadata)) + "\n"


@pytest.fixture
def torchlint(capsys, monkeypatch):
    return in_this_process(capsys, monkeypatch)


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.torchlint]\n")
    return tmp_path


@pytest.fixture
def notebook(project):
    """Write a notebook and return its path."""

    def write(*cells, text=None):
        path = project / "nb.ipynb"
        path.write_bytes((text or text_of(*cells)).encode())
        return path

    return write


CELLS = ("# text", "%matplotlib inline\n!pip install x\n", HEAD, TRAIN)


def test_findings_name_cell_and_line(torchlint, project, notebook):
    notebook(*CELLS)
    done = torchlint("check", cwd=project)
    assert done.returncode == 1
    assert done.stdout.startswith("nb.ipynb:cell 3:12:16: TL102 [*] ")
    assert done.stdout.endswith("once per step (cell 4:3)\n")
    full = torchlint("check", "--output-format", "full", cwd=project).stdout
    assert "nb.ipynb:cell 3:12:16" in full
    assert f"  12 - mask = {OLD}\n" in full
    assert torchlint("check", "nb.ipynb", cwd=project).returncode == 1


def test_json_has_the_cell(torchlint, project, notebook):
    path = notebook(*CELLS)
    (row,) = json.loads(torchlint("check", "--output-format", "json", cwd=project).stdout)
    assert (row["filename"], row["cell"], row["location"]) == (str(path), 3, {"row": 12, "column": 16})
    (edit,) = row["fix"]["edits"]
    assert (edit["content"], edit["location"], edit["end_location"]["column"]) == (NEW, {"row": 12, "column": 16}, 49)


def sarif_row(text):
    place = Sarif.model_validate_json(text).runs[0].results[0].locations[0]
    return place.physical_location.region.start_line


@pytest.mark.parametrize("name", ["github", "gitlab", "sarif", "rdjson", "azure", "junit", "lintrunner"])
def test_services_get_the_row_of_the_file(torchlint, project, notebook, name):
    path = notebook(*CELLS)
    row = next(number for number, line in enumerate(path.read_text().splitlines(), 1) if OLD in line)
    text = torchlint("check", "--output-format", name, cwd=project).stdout
    assert "cell 3, line 12: " in text
    assert "nb.ipynb" in text
    rows = {
        "github": lambda: f"line={row}," in text,
        "gitlab": lambda: json.loads(text)[0]["location"]["positions"]["begin"]["line"] == row,
        "sarif": lambda: sarif_row(text) == row,
        "rdjson": lambda: json.loads(text)["diagnostics"][0]["location"]["range"]["start"]["line"] == row,
        "azure": lambda: f"linenumber={row};" in text,
        "junit": lambda: f'line="{row}"' in text,
        "lintrunner": lambda: json.loads(text)["line"] == row,
    }
    assert rows[name]()


def indented(text, indent):
    return json.dumps(json.loads(text), indent=indent, ensure_ascii=False)


ODD = '"a": 1.0e5, "b": [null, {"cells": []}], "kernelspec"'
FORMS = {
    "with numbers and keys of many kinds": lambda text: text.replace('"kernelspec"', ODD),
    "as Jupyter writes it": lambda text: text,
    "without a newline at its end": lambda text: text.rstrip("\n"),
    "with CRLF": lambda text: text.replace("\n", "\r\n"),
    "with tabs": lambda text: indented(text, "\t"),
    "on one line": lambda text: json.dumps(json.loads(text)),
    "with a byte order mark": lambda text: "\ufeff" + text,
    "with sources that are strings": lambda text: json.dumps(
        {**json.loads(text), "cells": [{**c, "source": "".join(c["source"])} for c in json.loads(text)["cells"]]}
    ),
    "with other bytes outside of ASCII": lambda text: indented(text, 2).replace("# text", "# é 😀 \\u00e9"),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_fix_changes_the_line_and_no_other_byte(torchlint, project, notebook, form):
    before = FORMS[form](text_of(*CELLS))
    path = notebook(text=before)
    assert OLD in before
    done = torchlint("check", "--fix", cwd=project)
    assert (done.returncode, done.stderr) == (0, "Fixed 1 finding in 1 file; nothing slow is left in 1 file\n")
    assert path.read_bytes() == before.replace(OLD, NEW).encode()
    assert torchlint("check", cwd=project).returncode == 0


def test_a_fix_that_adds_and_removes_lines_keeps_the_magics(torchlint, project, notebook):
    text = HEAD.replace("import torch\n", "import torch\n%load_ext autoreload\n\n", 1)
    check = "if torch.isnan(obs).any():\n            raise ValueError('x')"
    text = text.replace(f"mask = {OLD}", f"x = !ls 'é'\n        help?\n        {check}\n        mask = 0")
    path = notebook("# text", text, TRAIN)
    done = torchlint("check", "--fix", "--accept", "validation", cwd=project)
    assert done.returncode in (0, 1), done.stderr
    after = nbformat.read(path, 4)
    nbformat.validate(after)
    source = after.cells[1].source
    assert "Fixed" in done.stderr
    assert "__debug__" in source or source != text
    for line in ("%load_ext autoreload", "x = !ls 'é'", "help?"):
        assert source.splitlines().count(line) + source.splitlines().count(f"        {line}") == 1
    assert "pass  #" not in source
    assert [cell.source for cell in (after.cells[0], after.cells[2])] == ["# text", TRAIN]


def test_the_diff_of_a_notebook_is_by_cell(torchlint, project, notebook):
    path = notebook(*CELLS)
    before = path.read_bytes()
    done = torchlint("check", "--diff", cwd=project)
    assert (done.returncode, path.read_bytes()) == (1, before)
    assert done.stdout.startswith("--- nb.ipynb:cell 3\t\n+++ nb.ipynb:cell 3\t\n@@ -9,5 +9,5 @@\n")
    assert f"-        mask = {OLD}\n+        mask = {NEW}\n" in done.stdout


def test_add_noqa_and_suppressions_work_in_cells(torchlint, project, notebook):
    path = notebook(*CELLS)
    assert torchlint("check", "--add-noqa", cwd=project).returncode == 0
    assert nbformat.read(path, 4).cells[2].source == HEAD.replace(OLD, f"{OLD}  # noqa: TL102")
    assert torchlint("check", cwd=project).returncode == 0


def test_since_knows_cells(torchlint, project, notebook):
    notebook(*CELLS)
    git(project, "init", "-q", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    assert torchlint("check", "--since", "HEAD", cwd=project).returncode == 0
    notebook("new = 1", *CELLS)
    assert torchlint("check", "--since", "HEAD", cwd=project).returncode == 0
    notebook(*CELLS[:2], HEAD.replace("mask = ", "mask  = "), TRAIN)
    assert torchlint("check", "--since", "HEAD", cwd=project).returncode == 1


def test_a_notebook_beside_a_module_of_its_name_is_no_module(torchlint, project, notebook):
    (project / "nb.py").write_text(f"{HEAD}\n")
    (project / "train.py").write_text(f"from nb import Agent\n\n\n{TRAIN}\n")
    notebook("# text", "import torch", "Agent = torch.nn.Linear")
    done = torchlint("check", "nb.py", cwd=project)
    assert done.stdout.startswith("nb.py:12:16: TL102")


def test_a_notebook_makes_the_code_hot_that_it_calls(torchlint, project, notebook):
    (project / "agent.py").write_text(f"{HEAD}\n")
    notebook("from agent import Agent", TRAIN)
    done = torchlint("check", "agent.py", cwd=project)
    assert done.stdout.startswith("agent.py:12:16: TL102")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not a notebook"),
        (b"[]", "not a notebook"),
        (b'{"cells": 3}', "not a notebook"),
        (b'{"cells": [3]}', "not a notebook"),
        (b'{"cells": [{"cell_type": "code", "source": [1]}]}', "not a notebook"),
        (b'{"torch": "\xff"}', "the notebook is not UTF-8"),
        (b"[" * 100_000, "not a notebook"),
    ],
)
def test_what_is_no_notebook_is_told(tmp_path, raw, message):
    with pytest.raises(UndecodableError, match=message):
        read_any(raw, tmp_path / "nb.ipynb", "nb.ipynb")


def test_a_broken_notebook_is_a_finding_and_the_others_are_linted(torchlint, project, notebook):
    notebook(*CELLS)
    (project / "broken.ipynb").write_text('{"cells": torch')
    (project / "syntax.ipynb").write_text(text_of("# text", "import torch\ndef f(:\n"))
    done = torchlint("check", cwd=project)
    assert done.returncode == 1
    assert [line.split(" TL")[0] for line in done.stdout.splitlines()] == [
        "broken.ipynb:1:1:",
        "nb.ipynb:cell 3:12:16:",
        "syntax.ipynb:cell 2:2:7:",
    ]


BROKEN = ("%load_ext x\nimport torch\ndef f(:\n    'é'", "print 'done'\n")


def test_a_cell_that_python_cannot_read_hides_no_other(torchlint, project, notebook):
    path = notebook(*CELLS, *BROKEN)
    before = path.read_text()
    for _ in ("cold", "warm"):
        done = torchlint("check", cwd=project)
        assert done.returncode == 1
        assert [line.split(" TL")[0] for line in done.stdout.splitlines()] == [
            "nb.ipynb:cell 3:12:16:",
            "nb.ipynb:cell 5:3:7:",
            "nb.ipynb:cell 6:1:1:",
        ]
    assert "def f(:" in torchlint("check", "--output-format", "full", cwd=project).stdout
    told = json.loads(torchlint("check", "--output-format", "gitlab", cwd=project).stdout)
    assert len({finding["fingerprint"] for finding in told}) == 3
    assert torchlint("check", "--fix", cwd=project).returncode == 1
    assert path.read_text() == before.replace(OLD, NEW)


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("x = 1", True),
        ("%%time\nx = 1", True),
        ("%%bash\nls", False),
        ("%%writefile a.py\nx = 1", False),
        ("\n%%html\n<b>", False),
        ('#@title Keep this tab alive { display-mode: "form" }\n\n#@markdown Press play.\n%%html\n<b>', False),
    ],
)
def test_cells_in_other_languages_are_left_out(source, kept):
    text = parse_notebook(text_of(source)).text
    assert bool(list(split_cells(text))) is kept


def test_a_notebook_of_another_language_has_no_cells():
    assert parse_notebook(text_of("x <- 1", language_info={"name": "R"})).text == ""
    assert parse_notebook(text_of("x = 1", language_info={"name": "python"})).text != ""


@pytest.mark.parametrize(
    "line",
    ["%time f(x)", "!ls *.py", "?f", "f?", "a.b??", "x = %time 1", "a, b = !ls", "!ls \\\n  -a \\\n  -b", "    %ls"],
)
def test_magics_are_masked_and_come_back(line):
    block = f"if x:\n    pass\n{line}\ny = 1" if not line.startswith(" ") else f"if x:\n{line}\ny = 1"
    notebook = parse_notebook(text_of(block))
    ((_, text),) = split_cells(notebook.text)
    compile(text, "cell", "exec")
    changed = notebook.with_text(notebook.text.replace("y = 1", "y = 2"))
    assert json.loads(changed.json_text)["cells"][0]["source"] == block.replace("y = 1", "y = 2").splitlines(True)


@pytest.mark.parametrize("line", ["x = 5 % 3", "x = y != 3", "s = 'what?'", "x = a[1] % b", "# what?", "x %= 3"])
def test_python_is_not_taken_for_magic(line):
    ((_, text),) = split_cells(parse_notebook(text_of(line)).text)
    assert text == line


@pytest.mark.parametrize(
    ("source", "readable"),
    [
        ("ls data/robots", True),
        ("x = 1\ncd ..\ny = 2", True),
        ("    print(x)\n    print(y)", True),
        ("\n  for x in y:\n\n    f(x)", True),
        ("    %ls\n    f(1)", True),
        ("print(1)\n    print(2)", False),
        ("make x", False),
        ("    print(x", False),
    ],
)
def test_what_ipython_reads_is_no_fault(source, readable):
    notebook = parse_notebook(text_of("z = 1", source))
    assert [number for number, _ in notebook.faults()] == ([] if readable else [2])
    changed = notebook.with_text(notebook.text.replace("z = 1", "z = 2"))
    assert ["".join(cell["source"]) for cell in json.loads(changed.json_text)["cells"]] == ["z = 2", source]


def test_a_command_without_a_percent_sign_hides_no_code_beside_it():
    ((_, text),) = split_cells(parse_notebook(text_of("ls data\nx = 1")).text)
    assert text == "pass  # ls data\nx = 1"
    ((_, text),) = split_cells(parse_notebook(text_of('"""\npip install torch\n"""\nls = 1')).text)
    assert text == '"""\npip install torch\n"""\nls = 1'


PIECES = ("a", "\n", "\r\n", "%", "!", "?", " ", '"', "\\", "é", "😀", "\t", "x = 1\n", "%ls\n", "\u2028", "\x0c")
SOURCES = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


# A busy machine is not a fault of the test.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(SOURCES, max_size=4), st.sampled_from([None, 1, "\t"]), st.booleans(), st.booleans())
def test_whatever_a_cell_holds_comes_back(sources, indent, as_lines, ascii_only):
    cells = [
        {"cell_type": "code", "source": re.findall(r"[^\n]*\n|[^\n]+", source) if as_lines else source, "outputs": [{}]}
        for source in sources
    ]
    before = json.dumps({"cells": cells}, indent=indent, ensure_ascii=ascii_only)
    notebook = parse_notebook(before)
    assert notebook.with_text(notebook.text).json_text == before
    longer = re.sub(r"^(# %% torchlint cell \d+)$", r"\1\nNEW = 1", notebook.text, flags=re.MULTILINE)
    kept = {number for number, _ in split_cells(notebook.text)}
    after = json.loads(notebook.with_text(longer).json_text)["cells"]
    for number, (source, cell) in enumerate(zip(sources, after, strict=True), 1):
        assert "".join(cell["source"]) == ("NEW = 1\n" if number in kept else "") + source


def test_rows_are_counted_in_cells():
    text = parse_notebook(text_of("# text", "a\nb", "c")).text
    rows = {line: place_in_cells(text, number) for number, line in enumerate(text.split("\n"), 1) if line in set("abc")}
    assert rows == {"a": (2, 1), "b": (2, 2), "c": (3, 1)}


def test_standard_input_may_be_a_notebook(project, monkeypatch, capfdbinary):
    from fake_engine import feed

    from torchlint.cli import main

    monkeypatch.chdir(project)
    before = text_of(*CELLS)
    feed(monkeypatch, before.encode())
    assert main(["check", "-", "--fix", "--stdin-filename", "nb.ipynb", "-q"]) == 0
    assert capfdbinary.readouterr().out == before.replace(OLD, NEW).encode()


GUARDED = "if debug:\n    agent.act(obs)\n"


@pytest.mark.parametrize("place", ["nb.ipynb:cell 3:12", "nb.ipynb:3:12"])
def test_explain_hot_takes_a_line_of_a_cell(torchlint, project, notebook, place):
    notebook(*CELLS)
    done = torchlint("check", "--explain-hot", place, cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("nb.ipynb:cell 3:12 runs once per environment step.\n")
    assert "nb.ipynb:cell 4:3 loop, steps an environment\n  → nb.ipynb:cell 3:11 Agent.act\n" in done.stdout


def test_explain_hot_of_a_cold_line_in_a_cell(torchlint, project, notebook):
    notebook(*CELLS[:3], GUARDED)
    done = torchlint("check", "--explain-hot", "nb.ipynb:cell 3:12", cwd=project)
    assert done.stdout.startswith("nb.ipynb:cell 3:12 is not hot.\n")
    assert "- nb.ipynb:cell 4:2 runs Agent.act, but guarded (debug flag) at nb.ipynb:cell 4:1: if debug:" in " ".join(
        done.stdout.split()
    )


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("nb.ipynb:3", "in a notebook give the cell, too: 'nb.ipynb:cell 3:3'"),
        ("nb.ipynb:cell 1:1", "nb.ipynb has no line 1 in a code cell 1"),
        ("nb.ipynb:cell 9:1", "nb.ipynb has no line 1 in a code cell 9"),
        ("nb.ipynb:cell 4:99", "nb.ipynb has no line 99 in a code cell 4"),
        ("nb.ipynb:cell 3:3", "there is no statement on that line of cell 3 of nb.ipynb"),
        ("nb.ipynb:cell 3:0", "--explain-hot takes FILE:LINE, e.g. agent.py:88"),
    ],
)
def test_explain_hot_of_no_line_in_a_notebook(torchlint, project, notebook, place, message):
    notebook(*CELLS)
    done = torchlint("check", "--explain-hot", place, cwd=project)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr
