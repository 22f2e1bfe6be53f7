"""A client of the language server that knows nothing of it, and keeps what the server publishes."""

import asyncio
import os
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from conftest import PATIENCE, ROOT
from lsprotocol import types
from pygls import uris
from pygls.lsp.client import LanguageClient

ENV = {**os.environ, "PYTHONPATH": str(ROOT)}


class Client(LanguageClient):
    def __init__(self):
        super().__init__("tests", "1")
        self.published = {}
        self.messages = []
        self.registered = []
        self.progressed = []
        self.counts = {}
        self.news = asyncio.Condition()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        async def publish(params):
            async with self.news:
                self.published[params.uri] = params
                self.counts.setdefault(params.uri, []).append((params.version, len(params.diagnostics)))
                self.news.notify_all()

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        async def show(params):
            async with self.news:
                self.messages.append(params.message)
                self.news.notify_all()

        @self.feature(types.WINDOW_WORK_DONE_PROGRESS_CREATE)
        def create(_params):
            return None

        @self.feature(types.PROGRESS)
        async def progress(params):
            async with self.news:
                self.progressed.append(params.value["kind"] if isinstance(params.value, dict) else params.value.kind)
                self.news.notify_all()

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params):
            self.registered.extend(each.method for each in params.registrations)

    async def until(self, wanted):
        async with self.news:
            await asyncio.wait_for(self.news.wait_for(wanted), PATIENCE)

    async def diagnostics(self, uri, version):
        """What was published for a version of a document."""
        await self.until(lambda: uri in self.published and self.published[uri].version == version)
        return list(self.published[uri].diagnostics)

    def open(self, path, text, version=1):
        uri = uris.from_fs_path(str(path))
        document = types.TextDocumentItem(uri, "python", version, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return uri

    def open_notebook(self, path, cells):
        """Open a notebook with code cells; the addresses of the notebook and of its cells."""
        uri = uris.from_fs_path(str(path))
        made = [f"vscode-notebook-cell:{uri.removeprefix('file:')}#W{number}" for number in range(len(cells))]
        listed = [types.NotebookCell(types.NotebookCellKind.Code, each) for each in made]
        document = types.NotebookDocument(uri, "jupyter-notebook", 1, listed)
        texts = [types.TextDocumentItem(each, "python", 1, text) for each, text in zip(made, cells, strict=True)]
        self.notebook_document_did_open(types.DidOpenNotebookDocumentParams(document, texts))
        return uri, made

    def change_cell(self, uri, cell, text, version):
        """Change the text of a cell of a notebook."""
        changed = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(version, cell),
            [types.TextDocumentContentChangeWholeDocument(text)],
        )
        event = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(text_content=[changed]))
        notebook = types.VersionedNotebookDocumentIdentifier(version, uri)
        self.notebook_document_did_change(types.DidChangeNotebookDocumentParams(notebook, event))

    def change(self, uri, text, version):
        document = types.VersionedTextDocumentIdentifier(version=version, uri=uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    async def actions(self, uri, line, only=None, diagnostics=()):
        place = types.Range(types.Position(line, 0), types.Position(line, 200))
        return await self._actions(uri, place, types.CodeActionContext(list(diagnostics), only))

    async def actions_at(self, uri, line, column, only=None, trigger=None):
        """The actions for a cursor."""
        place = types.Position(line, column)
        return await self._actions(uri, types.Range(place, place), types.CodeActionContext([], only, trigger))

    async def _actions(self, uri, place, context):
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
        return list(await self.text_document_code_action_async(params) or ())

    async def hover(self, uri, line, character):
        params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, character))
        return await self.text_document_hover_async(params)


FORKING = Path(__file__).with_name("forking.py")


@cache
def forks():
    """The socket at which a process waits that has imported the server; it ends with this process.

    A server that is forked from it is one process of its own, without the second that the imports take.
    """
    path = Path(tempfile.mkdtemp(prefix="forks")) / "socket"
    command = [sys.executable, str(FORKING), "--serve", str(path)]
    waiting = subprocess.Popen(command, env=ENV, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert waiting.stdout.readline() == b"ready\n"
    return str(path), waiting  # whose standard input stays open for as long as it is kept


def command_of(python, env):
    """How a server is started: by a new interpreter where its environment is another one."""
    if python == sys.executable and env is ENV:
        return str(python), "-S", str(FORKING), forks()[0], "server"
    return str(python), "-m", "torchlint", "server"


@asynccontextmanager
async def client_of(folder, *, resolve=True, units=None, python=sys.executable, env=ENV):
    """A client whose server runs in a folder, started and shut down."""
    client = Client()
    await client.start_io(*command_of(python, env), env=env, cwd=str(folder))
    action = types.CodeActionClientCapabilities(
        resolve_support=types.ClientCodeActionResolveOptions(["edit"]) if resolve else None
    )
    watched = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
    capabilities = types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(code_action=action),
        window=types.WindowClientCapabilities(work_done_progress=True),
        workspace=types.WorkspaceClientCapabilities(did_change_watched_files=watched),
        general=types.GeneralClientCapabilities(position_encodings=units),
    )
    uri = uris.from_fs_path(str(folder))
    told = await client.initialize_async(
        types.InitializeParams(capabilities, root_uri=uri, workspace_folders=[types.WorkspaceFolder(uri, "project")])
    )
    client.initialized(types.InitializedParams())
    client.told = told.capabilities
    try:
        yield client
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()
