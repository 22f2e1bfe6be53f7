import shutil
import subprocess

import pytest
from reporting import context_of, finding_of, source_of

from torchlint.engine.result import FixedFile
from torchlint.report import diff


def fixed(before, after, name="agent.py"):
    return {name: FixedFile(source_of(before, name), source_of(after, name), (finding_of(before, before[:1]),))}


def rendered(before, after, name="agent.py", **fields):
    return diff.render(context_of("", fixed=fixed(before, after, name), **fields))


def test_the_exact_diff():
    assert rendered("a\nb\nc\n", "a\nB\nc\n") == "--- agent.py\n+++ agent.py\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"


def test_files_come_by_name():
    both = {**fixed("a\n", "b\n", "z.py"), **fixed("a\n", "b\n", "lib/a.py")}
    lines = diff.render(context_of("", fixed=both)).splitlines()
    assert [line for line in lines if line.startswith("---")] == ["--- lib/a.py", "--- z.py"]


def test_nothing_fixed_is_no_text():
    assert diff.render(context_of("a\n")) == ""


CASES = {
    "no newline at the end": ("a\nb", "a\nB"),
    "newline lost": ("a\nb\n", "a\nb"),
    "newline gained": ("a\nb", "a\nb\n"),
    "windows": ("a\r\nb\r\nc\r\n", "a\r\nB\r\nc\r\n"),
    "separators inside lines": ("a\x0cb\nc\u2028d\x85e\nf\n", "a\x0cb\nc\u2028d\x85E\nf\n"),
    "from nothing": ("a", ""),
    "two hunks": ("a\n" + "x\n" * 20 + "b\n", "A\n" + "x\n" * 20 + "B\n"),
    "lines like headers": ("-- a\n++ b\nc\n", "c\n"),
}


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["agent.py", "two words.py", 'quo"te\\n.py', "é\n.py"])
def test_patch_applies_it(case, name, tmp_path):
    before, after = CASES[case]
    file = tmp_path / name
    file.write_bytes(before.encode())
    text = rendered(before, after, name)
    done = subprocess.run(
        ["patch", "-p0", "--binary", "--quiet"],
        input=text.encode(),
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr + text.encode()
    assert (file.read_bytes() if file.exists() else b"") == after.encode()


def test_a_missing_newline_is_said():
    text = rendered("a\nb", "a\nB")
    assert text.endswith("-b\n\\ No newline at end of file\n+B\n\\ No newline at end of file\n")


def test_controls_reach_a_pipe_but_no_terminal():
    before, after = "x = '\x1b[2J'\ny\n", "x = '\x1b[2J'\nz\n"
    assert " x = '\x1b[2J'\n" in rendered(before, after)
    assert " x = '\\x1b[2J'\n" in rendered(before, after, terminal=True)


def test_a_name_cannot_add_a_line():
    lines = rendered("a\n", "b\n", "x\n+++ evil.py").splitlines()
    assert lines[:2] == ['--- "x\\012+++ evil.py"', '+++ "x\\012+++ evil.py"']


def test_colours_mark_removed_and_added_lines():
    text = rendered("a\nb\n", "a\nc\n", terminal=True, color=True)
    assert "\x1b[31m-b\x1b[0m\n\x1b[32m+c\x1b[0m\n" in text
