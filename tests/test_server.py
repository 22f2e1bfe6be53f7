"""The language server, spoken to by a client that knows nothing of it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

pytest.importorskip("pygls")

from lsprotocol import types
from pygls import uris
from speaking import ENV, client_of

from torchlint.engine.figures import shipped
from torchlint.rule import Edit, Position
from torchlint.server.positions import Positions
from torchlint.sources.between import between
from torchlint.sources.edits import apply_edits
from torchlint.sources.text import Source

AGENT = """\
import torch


class Agent:
    def act(self, obs):
        name = "𝒳"; x = torch.FloatTensor([obs])
        return self.policy(x)
"""
TRAIN = """\
from agent import Agent


def train(agent: Agent, env, steps):
    obs, _ = env.reset()
    for _ in range(steps):
        obs, *_ = env.step(agent.act(obs))
"""
FIXED = AGENT.replace("torch.FloatTensor([obs])", "torch.as_tensor([obs], dtype=torch.float32)")
LINE, START, END = 5, 25, 49  # of the call in UTF-16 units: the letter before it takes two


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[tool.torchlint]\nselect = ["TL101"]\n')
    (folder / "agent.py").write_text("# not saved yet\n")
    (folder / "train.py").write_text(TRAIN)
    return folder


def applied(text, edit):
    """A text after the edits of a workspace edit, as an editor makes them: in UTF-16 units."""
    (document,) = edit.document_changes
    lines = text.splitlines(keepends=True)
    starts = [sum(len(line.encode("utf-16-le")) for line in lines[:row]) for row in range(len(lines) + 1)]
    data = text.encode("utf-16-le")
    for each in sorted(document.edits, key=lambda each: (each.range.start.line, each.range.start.character))[::-1]:
        start, end = (starts[place.line] + 2 * place.character for place in (each.range.start, each.range.end))
        data = data[:start] + each.new_text.encode("utf-16-le") + data[end:]
    return data.decode("utf-16-le")


# what an editor sees --------------------------------------------------------------------------------------------------


def test_diagnostics_of_a_text_that_is_not_saved_with_the_hot_path(project):
    async def talk():
        async with client_of(project) as client:
            uri = client.open(project / "agent.py", AGENT)
            (found,) = await client.diagnostics(uri, 1)
            assert (found.code, found.source, found.severity) == (
                "TL101",
                "torchlint",
                types.DiagnosticSeverity.Warning,
            )
            place = found.range
            assert (place.start.line, place.start.character, place.end.character) == (LINE, START, END)
            assert "once per environment step" in found.message
            # The cost is said where it was measured beyond the noise.
            (cost,) = (each for each in shipped()["TL101"].costs if each.example == "masks-of-8-environments")
            gains = cost.gains
            assert ("measured at masks of 8 environments on CPU" in found.message) is gains
            hops = [(Path(uris.to_fs_path(each.location.uri)).name, each.message) for each in found.related_information]
            assert hops == [("train.py", "hot here: loop"), ("agent.py", "→ Agent.act")]
            assert found.related_information[0].location.range.start.line == 5
            client.change(uri, FIXED, 2)
            assert await client.diagnostics(uri, 2) == []
            assert (project / "agent.py").read_text() == "# not saved yet\n"

    asyncio.run(talk())


def test_another_open_document_makes_a_line_hot_and_cold(project):
    async def talk():
        async with client_of(project) as client:
            agent, train = client.open(project / "agent.py", AGENT), client.open(project / "train.py", TRAIN)
            assert len(await client.diagnostics(agent, 1)) == 1
            client.published.clear()
            client.change(train, "# nothing calls it\n", 2)
            assert await client.diagnostics(train, 2) == []
            assert await client.diagnostics(agent, 1) == []
            client.published.clear()
            client.change(train, TRAIN, 3)
            assert await client.diagnostics(train, 3) == []
            assert len(await client.diagnostics(agent, 1)) == 1
            client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(agent)))
            await client.until(lambda: not client.published[agent].diagnostics)

    asyncio.run(talk())


def test_an_address_with_escapes_is_the_same_document_everywhere(project):
    folder = project / "of 100% = all"
    folder.mkdir()

    async def talk():
        async with client_of(project) as client:
            uri = client.open(folder / "new.py", TRAIN.replace("from agent import Agent\n", AGENT.strip() + "\n"))
            assert "%20" in uri
            found = await client.diagnostics(uri, 1)
            assert [each.code for each in found] == ["TL101"]
            assert len(await client.actions(uri, LINE, only=["quickfix"])) == 2
            client.change(uri, "", 2)
            assert await client.diagnostics(uri, 2) == []

    asyncio.run(talk())


@pytest.mark.parametrize("resolve", [True, False])
def test_fixes_are_code_actions(project, resolve):
    async def talk():
        async with client_of(project, resolve=resolve) as client:
            uri = client.open(project / "agent.py", AGENT)
            found = await client.diagnostics(uri, 1)
            fix, ignore, everything = await client.actions(uri, LINE, diagnostics=found)
            assert (fix.title, fix.kind, fix.is_preferred) == ("Use torch.as_tensor (TL101)", "quickfix", True)
            assert fix.diagnostics[0].code == "TL101"
            assert fix.edit.document_changes[0].text_document.version == 1
            assert applied(AGENT, fix.edit) == FIXED
            assert ignore.title == "Ignore TL101 on this line"
            assert applied(AGENT, ignore.edit) == AGENT.replace("[obs])", "[obs])  # noqa: TL101")
            assert everything.kind == "source.fixAll.torchlint"
            assert (everything.edit is None) == resolve
            if resolve:
                everything = await client.code_action_resolve_async(everything)
            assert applied(AGENT, everything.edit) == FIXED
            assert await client.actions(uri, 0, only=["quickfix"]) == []
            (alone,) = await client.actions(uri, 0, only=["source.fixAll"])
            assert alone.kind == "source.fixAll.torchlint"
            assert (project / "agent.py").read_text() == "# not saved yet\n"

    asyncio.run(talk())


@pytest.mark.parametrize("column", [0, 10, 200])
def test_a_cursor_anywhere_on_the_rows_of_a_statement_gets_its_fixes(project, column):
    text = AGENT.replace("torch.FloatTensor([obs])", "torch.FloatTensor(\n            [obs]\n        )")

    async def talk():
        async with client_of(project) as client:
            uri = client.open(project / "agent.py", text)
            for line in (LINE, LINE + 1, LINE + 2):
                titles = [each.title for each in await client.actions_at(uri, line, column, only=["quickfix"])]
                assert titles[0] == "Use torch.as_tensor (TL101)"
            assert await client.actions_at(uri, LINE + 3, 0, only=["quickfix"]) == []
            assert await client.actions_at(uri, LINE - 1, 4, only=["quickfix"]) == []

    asyncio.run(talk())


def test_an_edit_shows_first_as_a_preview_and_then_for_good(project):
    async def talk():
        async with client_of(project) as client:
            uri = client.open(project / "agent.py", AGENT)
            await client.diagnostics(uri, 1)
            client.change(uri, AGENT.replace("self.policy(x)", "self.policy(torch.FloatTensor([obs]))"), 2)
            assert len(await client.diagnostics(uri, 2)) == 2
            # Editors ask wherever the cursor goes; they get what the whole analysis says, once it was made.
            automatic = await client.actions_at(uri, LINE + 1, 0, trigger=types.CodeActionTriggerKind.Automatic)
            assert [each.title for each in automatic][-1] == "torchlint: fix all safe"
            assert any("TL101" in each.title and "Ignore" not in each.title for each in automatic)
            assert [count for version, count in client.counts[uri] if version == 2] == [2, 2]

    asyncio.run(talk())


def test_the_first_analysis_of_a_document_shows_progress(project):
    async def talk():
        async with client_of(project) as client:
            uri = client.open(project / "agent.py", AGENT)
            await client.diagnostics(uri, 1)
            await client.until(lambda: len(client.progressed) == 2)
            assert client.progressed == ["begin", "end"]
            client.change(uri, AGENT + "#\n", 2)
            await client.diagnostics(uri, 2)
            assert client.progressed == ["begin", "end"]

    asyncio.run(talk())


def test_fix_all_takes_what_the_settings_accept_and_nothing_more(project):
    unsafe = AGENT.replace("[obs]", "self.memory(obs)")

    async def talk():
        async with client_of(project) as client:
            uri = client.open(project / "agent.py", unsafe)
            await client.diagnostics(uri, 1)
            fix, _, everything = await client.actions(uri, LINE)
            assert "(TL101; right only if the argument is an array or a list" in fix.title
            assert fix.is_preferred is False
            assert (await client.code_action_resolve_async(everything)).edit is None
            (project / "pyproject.toml").write_text('[tool.torchlint]\nselect = ["TL101"]\nunsafe-fixes = true\n')
            edit = (await client.code_action_resolve_async(everything)).edit
            assert "as_tensor" in applied(unsafe, edit)

    asyncio.run(talk())


def test_actions_are_for_the_text_as_it_is_now(project):
    async def talk():
        async with client_of(project) as client:
            uri = client.open(project / "agent.py", AGENT)
            await client.diagnostics(uri, 1)
            text = AGENT.replace("import torch\n", "# one line more\nimport torch\n")
            client.change(uri, text, 2)
            fix, *_ = await client.actions(uri, LINE + 1)
            assert applied(text, fix.edit) == text.replace(AGENT[13:], FIXED[13:])
            assert fix.edit.document_changes[0].text_document.version == 2

    asyncio.run(talk())


def test_hover_shows_the_page_of_the_rule(project):
    async def talk():
        async with client_of(project) as client:
            text = AGENT + "# see TL102\n"
            uri = client.open(project / "agent.py", text)
            hover = await client.hover(uri, LINE, START + 3)
            assert hover.contents.kind == "markdown"
            assert "# legacy-tensor-constructor (TL101)" in hover.contents.value
            assert "train.py:6 loop → Agent.act" in hover.contents.value
            assert "## Why is this slow" in hover.contents.value
            assert (hover.range.start.character, hover.range.end.character) == (START, END)
            hover = await client.hover(uri, len(text.splitlines()) - 1, 8)
            assert "# cpu-then-move (TL102)" in hover.contents.value
            assert hover.range.start.character == 6
            assert await client.hover(uri, 0, 0) is None
            assert await client.hover(uri, 1000, 0) is None

    asyncio.run(talk())


def test_a_command_says_why_a_line_is_hot(project):
    async def talk():
        async with client_of(project) as client:
            uri = client.open(project / "agent.py", AGENT)

            async def explained(line, of=uri):
                params = types.ExecuteCommandParams("torchlint.server.explainHot", [of, line])
                return await client.workspace_execute_command_async(params)

            told = await explained(LINE)
            assert "agent.py:6 runs once per environment step" in told
            assert "train.py:6" in told
            assert await explained(1) == "there is no statement on line 2 of agent.py"
            assert await explained(LINE, uris.from_fs_path(str(project / "train.py"))) is None

    asyncio.run(talk())


def test_columns_are_counted_as_the_editor_asks(project):
    async def talk(units, start):
        async with client_of(project, units=[units]) as client:
            assert client.told.position_encoding == units
            uri = client.open(project / "agent.py", AGENT)
            (found,) = await client.diagnostics(uri, 1)
            assert found.range.start.character == start

    asyncio.run(talk("utf-8", START + 2))
    asyncio.run(talk("utf-32", START - 1))


def test_syntax_errors_and_new_files_and_other_documents(project):
    async def talk():
        async with client_of(project) as client:
            broken = client.open(project / "broken.py", "import torch\nx = = 1\n")
            (found,) = await client.diagnostics(broken, 1)
            assert (found.code, found.severity) == ("TL000", types.DiagnosticSeverity.Error)
            assert await client.actions(broken, 1, only=["quickfix"]) == []
            alone = client.open(project / "new.py", TRAIN.replace("from agent import Agent\n", AGENT.strip() + "\n"))
            assert [each.code for each in await client.diagnostics(alone, 1)] == ["TL101"]
            assert client.open(project / "nul.py", "import torch\0\n")
            notes = uris.from_fs_path(str(project / "notes.md"))
            document = types.TextDocumentItem(notes, "markdown", 1, AGENT)
            client.text_document_did_open(types.DidOpenTextDocumentParams(document))
            client.change(alone, "", 2)
            assert await client.diagnostics(alone, 2) == []
            assert notes not in client.published
            assert await client.actions(notes, 1) == []
            assert await client.hover(notes, 0, 0) is None
            assert client.registered == ["workspace/didChangeWatchedFiles"]

    asyncio.run(talk())


def test_excluded_documents_are_left_alone(project):
    (project / "pyproject.toml").write_text('[tool.torchlint]\nextend-exclude = ["agent.py"]\n')

    async def talk():
        async with client_of(project) as client:
            assert await client.diagnostics(client.open(project / "agent.py", AGENT), 1) == []

    asyncio.run(talk())


def test_wrong_settings_are_told_once_and_right_ones_are_taken_up(project):
    settings = project / "pyproject.toml"
    settings.write_text('[tool.torchlint]\nselct = ["TL101"]\n')

    async def talk():
        async with client_of(project) as client:
            uri = client.open(project / "agent.py", AGENT)
            assert await client.diagnostics(uri, 1) == []
            await client.until(lambda: client.messages)
            client.change(uri, AGENT + "#\n", 2)
            assert await client.diagnostics(uri, 2) == []
            assert await client.hover(uri, LINE, START) is None
            (message,) = client.messages
            assert "did you mean 'select'?" in message
            settings.write_text('[tool.torchlint]\nselect = ["TL101"]\n')
            client.published.clear()
            change = types.FileEvent(uris.from_fs_path(str(settings)), types.FileChangeType.Changed)
            client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
            assert len(await client.diagnostics(uri, 2)) == 1

    asyncio.run(talk())


def test_a_saved_file_is_read_again(project):
    async def talk():
        async with client_of(project) as client:
            uri = client.open(project / "agent.py", AGENT)
            assert len(await client.diagnostics(uri, 1)) == 1
            (project / "train.py").write_text("# nothing calls it\n")
            client.published.clear()
            client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))
            assert await client.diagnostics(uri, 1) == []

    asyncio.run(talk())


def test_without_the_extra_there_is_one_clear_error(tmp_path):
    (tmp_path / "pygls").mkdir()
    (tmp_path / "pygls" / "__init__.py").write_text("raise ImportError('No module named pygls')\n")
    env = {**ENV, "PYTHONPATH": os.pathsep.join((str(tmp_path), ENV["PYTHONPATH"]))}
    command = [sys.executable, "-m", "torchlint", "server"]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "pip install 'torchlint[server]'" in done.stderr


# notebooks ------------------------------------------------------------------------------------------------------------

CELLS = (
    "%matplotlib inline\nimport torch",
    "%%bash\nls",
    "class Agent:\n    def act(self, obs):\n        x = torch.FloatTensor([obs])\n        return self.policy(x)",
    "agent, obs = Agent(), env.reset()\nfor _ in range(9):\n    obs, *_ = env.step(agent.act(obs))",
)


def test_the_cells_of_an_open_notebook_are_linted_together(project):
    async def talk():
        async with client_of(project) as client:
            notebook, cells = client.open_notebook(project / "run.ipynb", CELLS)
            (found,) = await client.diagnostics(cells[2], 1)
            assert (found.code, found.range.start.line, found.range.start.character) == ("TL101", 2, 12)
            hops = [(each.location.uri, each.location.range.start.line) for each in found.related_information]
            assert hops == [(cells[3], 1), (cells[2], 1)]
            assert [await client.diagnostics(each, 1) for each in (cells[0], cells[3])] == [[], []]
            fix, ignore, everything = await client.actions(cells[2], 2)
            assert fix.edit.document_changes[0].text_document.uri == cells[2]
            fixed = CELLS[2].replace("torch.FloatTensor([obs])", "torch.as_tensor([obs], dtype=torch.float32)")
            assert applied(CELLS[2], fix.edit) == fixed
            assert applied(CELLS[2], ignore.edit) == CELLS[2].replace("[obs])", "[obs])  # noqa: TL101")
            assert applied(CELLS[2], (await client.code_action_resolve_async(everything)).edit) == fixed
            hover = await client.hover(cells[2], 2, 14)
            assert "legacy-tensor-constructor" in hover.contents.value
            assert hover.range.start.line == 2
            client.change_cell(notebook, cells[2], "# one more\n" + CELLS[2], 2)
            (found,) = await client.diagnostics(cells[2], 2)
            assert found.range.start.line == 3
            client.change_cell(notebook, cells[2], CELLS[2] + "(", 3)
            assert [each.code for each in await client.diagnostics(cells[2], 3)] == ["TL000"]
            listed = [types.TextDocumentIdentifier(each) for each in cells]
            closed = types.DidCloseNotebookDocumentParams(types.NotebookDocumentIdentifier(notebook), listed)
            client.notebook_document_did_close(closed)
            await client.until(lambda: not client.published[cells[2]].diagnostics)

    asyncio.run(talk())


def test_a_command_says_why_a_line_of_a_cell_is_hot(project):
    async def talk():
        async with client_of(project) as client:
            _, cells = client.open_notebook(project / "run.ipynb", CELLS)

            async def explained(cell, line):
                params = types.ExecuteCommandParams("torchlint.server.explainHot", [cells[cell], line])
                return await client.workspace_execute_command_async(params)

            told = await explained(2, 2)
            assert told.startswith("run.ipynb:cell 3:3 runs once per environment step.\n")
            assert "run.ipynb:cell 4:2 loop, steps an environment" in told
            assert await explained(2, 9) == "run.ipynb has no line 10 in a code cell 3"
            assert await explained(1, 0) == "run.ipynb has no line 1 in a code cell 2"

    asyncio.run(talk())


def test_a_notebook_whose_cells_cannot_be_told_apart_is_left_alone(project):
    async def talk():
        async with client_of(project) as client:
            _, cells = client.open_notebook(project / "run.ipynb", ["# %% torchlint cell 7", CELLS[2]])
            assert await client.diagnostics(cells[1], 1) == []
            assert await client.actions(cells[1], 2) == []

    asyncio.run(talk())


# how it ends ----------------------------------------------------------------------------------------------------------


def message(**fields):
    body = json.dumps({"jsonrpc": "2.0", **fields}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def ended(folder, *sent, number=None):
    """The status of a server that is sent messages, and then a signal or the end of its input; what it printed."""
    command = [sys.executable, "-m", "torchlint", "server"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=folder, env=ENV, **pipes) as process:
        process.stdin.write(message(id=1, method="initialize", params={"processId": None, "capabilities": {}}))
        process.stdin.flush()
        length = process.stdout.readline()
        assert length.startswith(b"Content-Length: ")
        while process.stdout.readline().strip():
            pass  # the rest of the head
        process.stdout.read(int(length.split()[1]))  # now it waits for the next message, which never comes
        process.stdin.write(b"".join(sent))
        process.stdin.flush()
        if number is not None:
            process.send_signal(number)
            process.wait()
        _, told = process.communicate()
    return process.returncode, told.decode()


SHUTDOWN, EXIT = message(id=2, method="shutdown"), message(method="exit")


def test_it_ends_when_the_editor_says_so(project):
    assert ended(project, SHUTDOWN, EXIT) == (0, "")
    assert ended(project, EXIT) == (1, "")
    assert ended(project) == (0, "")


def test_it_ends_in_the_middle_of_work(project):
    uri = uris.from_fs_path(str(project / "agent.py"))
    document = {"uri": uri, "languageId": "python", "version": 1, "text": AGENT}
    opened = message(method="textDocument/didOpen", params={"textDocument": document})
    assert ended(project, opened, SHUTDOWN, EXIT) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_the_system_says_so(project, number):
    assert ended(project, number=number) == (128 + number, "torchlint: interrupted\n")


@pytest.mark.parametrize("length", ["9" * 20, "9" * 5000, str(1 << 40), str((1 << 28) + 1)])
def test_a_message_of_impossible_length_is_one_error(project, length):
    told = "torchlint: error: standard input: a message of more than 256 MiB is announced\n"
    assert ended(project, b"Content-Length: %s\r\n\r\n{}" % length.encode()) == (2, told)


# its parts ------------------------------------------------------------------------------------------------------------


def source(text):
    return Source(Path("a.py").absolute(), "a.py", text, text.encode())


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("units", ["utf-8", "utf-16", "utf-32"])
def test_places_go_there_and_back(newline, units):
    text = newline.join(["a𝒳é", "", "\x0cb\u2028c", "d"])
    positions = Positions(source(text), units)
    rows = text.split(newline)
    for row, line in enumerate(rows, 1):
        for column in range(1, len(line) + 2):
            position = Position(row, column)
            assert positions.position(positions.place(position)) == position
    assert positions.place(Position(3, 3)) == (2, 2)
    assert positions.place(Position(1, 3))[1] == {"utf-8": 5, "utf-16": 3, "utf-32": 2}[units]
    assert positions.place(Position(9, 1)) == (3, 1)
    assert positions.position((0, 99)) == Position(1, 4)
    assert positions.position((99, 0)) == Position(4, 2)
    assert positions.line(3) == "\x0cb\u2028c"
    assert positions.line(9) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [("a\nb\nc\n", "a\nx\nc\n"), ("", "a\n"), ("a", ""), ("a\r\nb", "a\r\nb\r\nc"), ("é\n𝒳\n", "𝒳\n"), ("a\n", "a\n")],
)
def test_edits_of_lines_make_one_text_of_the_other(before, after):
    edits = between(source(before), source(after))
    text = before.encode()
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.text.encode() + text[edit.end :]
    assert text.decode() == after
    assert apply_edits(source("a\n"), [Edit(0, 1, "b")]).text == "b\n"
