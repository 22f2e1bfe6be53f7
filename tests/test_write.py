import os
import stat
import sys
import tempfile
from pathlib import Path

import pytest

from torchlint.rule import Edit
from torchlint.sources.decode import read_source
from torchlint.sources.edits import apply_edits
from torchlint.sources.write import ChangedMeanwhileError, UnencodableError, replace_file

pytestmark = pytest.mark.versions

NOBODY = 65534


def written(path, raw=b"x = 1\n"):
    path.write_bytes(raw)
    return read_source(path, path.name)


def edited(before, old, new):
    start = before.utf8.index(old.encode())
    return apply_edits(before, [Edit(start, start + len(old.encode()), new)])


@pytest.fixture
def as_nobody():
    """A folder of someone without privileges, and that someone as the one who runs the test."""
    if sys.platform == "win32":
        pytest.skip("no user ids")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.geteuid():
            yield folder
            return
        folder.chmod(0o755)
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            os.seteuid(0)
            folder.chmod(0o755)


def test_the_new_text_is_written_and_nothing_is_left_behind(tmp_path):
    before = written(tmp_path / "a.py")
    replace_file(before, edited(before, "1", "2"))
    assert (tmp_path / "a.py").read_bytes() == b"x = 2\n"
    assert os.listdir(tmp_path) == ["a.py"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o664])
def test_the_mode_stays(tmp_path, mode):
    before = written(tmp_path / "a.py")
    (tmp_path / "a.py").chmod(mode)
    replace_file(before, edited(before, "1", "2"))
    assert stat.S_IMODE((tmp_path / "a.py").stat().st_mode) == mode


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser gives files away")
def test_the_owner_stays(tmp_path):
    before = written(tmp_path / "a.py")
    os.chown(tmp_path / "a.py", NOBODY, NOBODY)
    replace_file(before, edited(before, "1", "2"))
    status = (tmp_path / "a.py").stat()
    assert (status.st_uid, status.st_gid) == (NOBODY, NOBODY)


def test_byte_order_mark_encoding_and_newlines_stay(tmp_path):
    before = written(tmp_path / "bom.py", b"\xef\xbb\xbfx = '\xc3\xa9'\r\ny = 1\r\n")
    replace_file(before, edited(before, "y = 1", "y = 1\nz = 2"))
    assert (tmp_path / "bom.py").read_bytes() == b"\xef\xbb\xbfx = '\xc3\xa9'\r\ny = 1\r\nz = 2\r\n"
    latin = written(tmp_path / "latin.py", b"# coding: latin-1\rx = '\xe9'\ry = 1\r")
    replace_file(latin, edited(latin, "y = 1", "y = 'ü'"))
    assert (tmp_path / "latin.py").read_bytes() == b"# coding: latin-1\rx = '\xe9'\ry = '\xfc'\r"


def test_links_lead_to_the_file_that_is_written(tmp_path):
    (tmp_path / "real").mkdir()
    written(tmp_path / "real" / "a.py")
    (tmp_path / "link.py").symlink_to(Path("real") / "a.py")
    before = read_source(tmp_path / "link.py", "link.py")
    replace_file(before, edited(before, "1", "2"))
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "real" / "a.py").read_bytes() == b"x = 2\n"
    assert os.listdir(tmp_path / "real") == ["a.py"]


def test_a_file_that_was_changed_meanwhile_is_left_alone(tmp_path):
    before = written(tmp_path / "a.py")
    (tmp_path / "a.py").write_bytes(b"x = 7\n")
    with pytest.raises(ChangedMeanwhileError, match=r"a\.py"):
        replace_file(before, edited(before, "1", "2"))
    assert (tmp_path / "a.py").read_bytes() == b"x = 7\n"
    assert os.listdir(tmp_path) == ["a.py"]


def test_a_file_that_changes_while_the_new_one_is_written_is_left_alone(tmp_path, monkeypatch):
    before = written(tmp_path / "a.py")
    monkeypatch.setattr(os, "fsync", lambda handle: (tmp_path / "a.py").write_bytes(b"x = 7\n"))
    with pytest.raises(ChangedMeanwhileError):
        replace_file(before, edited(before, "1", "2"))
    assert (tmp_path / "a.py").read_bytes() == b"x = 7\n"
    assert os.listdir(tmp_path) == ["a.py"]


def test_a_file_that_is_gone_does_not_come_back(tmp_path):
    before = written(tmp_path / "a.py")
    (tmp_path / "a.py").unlink()
    with pytest.raises(ChangedMeanwhileError):
        replace_file(before, edited(before, "1", "2"))
    assert os.listdir(tmp_path) == []


def test_text_that_the_encoding_lacks_is_not_written(tmp_path):
    raw = b"# coding: latin-1\nx = 1\n"
    before = written(tmp_path / "a.py", raw)
    with pytest.raises(UnencodableError, match="iso8859-1"):
        replace_file(before, edited(before, "1", "'→'"))
    assert (tmp_path / "a.py").read_bytes() == raw


def test_the_declaration_must_stay_where_python_looks_for_it(tmp_path):
    raw = b"# coding: latin-1\nx = '\xe9'\n"
    before = written(tmp_path / "a.py", raw)
    with pytest.raises(UnencodableError, match="no longer read"):
        replace_file(before, edited(before, "# coding", "import os\nimport sys\n# coding"))
    assert (tmp_path / "a.py").read_bytes() == raw


def test_an_encoding_that_does_not_give_the_same_bytes_back_is_not_written(tmp_path):
    raw = b"# coding: utf-7\nx = '+AGE-'\ny = 1\n"
    before = written(tmp_path / "a.py", raw)
    assert before.text.endswith("x = 'a'\ny = 1\n")
    with pytest.raises(UnencodableError, match="byte for byte"):
        replace_file(before, edited(before, "y", "z"))
    assert (tmp_path / "a.py").read_bytes() == raw


def test_a_failed_replacement_leaves_nothing_behind(tmp_path, monkeypatch):
    before = written(tmp_path / "a.py")

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space"):
        replace_file(before, edited(before, "1", "2"))
    assert (tmp_path / "a.py").read_bytes() == b"x = 1\n"
    assert os.listdir(tmp_path) == ["a.py"]


def test_a_read_only_folder_is_an_error_of_the_system(as_nobody):
    before = written(as_nobody / "a.py")
    as_nobody.chmod(0o555)
    with pytest.raises(PermissionError):
        replace_file(before, edited(before, "1", "2"))
    assert (as_nobody / "a.py").read_bytes() == b"x = 1\n"
    assert os.listdir(as_nobody) == ["a.py"]


def test_a_read_only_file_is_not_replaced(as_nobody):
    before = written(as_nobody / "a.py")
    (as_nobody / "a.py").chmod(0o444)
    with pytest.raises(PermissionError, match="denied"):
        replace_file(before, edited(before, "1", "2"))
    assert (as_nobody / "a.py").read_bytes() == b"x = 1\n"
    assert os.listdir(as_nobody) == ["a.py"]
