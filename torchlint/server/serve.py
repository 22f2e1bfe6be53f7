"""The server itself: what the editor says, and when the documents are linted."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from torchlint.engine.result import NoCodeError, UnusableError
from torchlint.engine.session_state import AnalysisCancelled
from torchlint.server.answers import FIX_ALL, SOURCE, Answers, wants_fix_all
from torchlint.server.notebooks import SYNCED, NotebookAnswers, NotebookCell, as_json
from torchlint.server.session import NOTEBOOK, Linted, Outcome, Session
from torchlint.settings.check import SettingsError
from torchlint.sources.text import Source

_Answer = TypeVar("_Answer")
EXPLAIN_HOT = "torchlint.server.explainHot"
"""A command that takes the address of a document and a 0-based line, and gives text."""

# Seconds without a keystroke after which an edited document is looked at, and after which its whole project is.
_PAUSE = 0.25
_REST = 1.0
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_CODE = types.NotebookCellKind.Code
_WATCHED = ("**/*.py", "**/pyproject.toml", "**/torchlint.toml", "**/.torchlint.toml")


# Bytes of a message: no editor sends a text of this size, and memory for it is taken before it arrives.
_LARGEST = 1 << 28
_LENGTH = b"content-length:"


class ProtocolError(Exception):
    """What the other side sends is not a message; the message says why in one line."""


def serve(stdin: BinaryIO, stdout: BinaryIO, version: str) -> bool:
    """Serve the protocol on two streams until the editor ends it; ``version`` is torchlint's.

    Returns:
        Whether it ended as the protocol has it: no exit without a shutdown before it.

    Raises:
        ProtocolError: what is sent is not a message.
    """
    made = server(version)
    made.start_io(cast("BinaryIO", _Input(stdin)), stdout)
    return made.in_order


class _Input:
    """A stream of messages, of which none is announced as larger than any can be."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.read = stream.read

    def readline(self) -> bytes:
        """Return a line of a head.

        Raises:
            ProtocolError: it announces a message that is too large.
        """
        line = self._stream.readline()
        if line.lower().startswith(_LENGTH):
            digits = line[len(_LENGTH) :].strip().lstrip(b"0")
            if len(digits) > len(str(_LARGEST)) or (digits.isdigit() and int(digits) > _LARGEST):
                raise ProtocolError(f"a message of more than {_LARGEST >> 20} MiB is announced")
        return line


class Server(LanguageServer):
    """Keeps what was found in the open documents, and lints them one run at a time."""

    def __init__(self, version: str) -> None:
        """Start without documents."""
        # Whole texts: pygls splits lines where neither editors nor Python do, and so misplaces partial changes.
        sync = types.TextDocumentSyncKind.Full
        super().__init__(SOURCE, version, text_document_sync_kind=sync, notebook_document_sync=SYNCED)
        self._session = Session()
        self._worker = ThreadPoolExecutor(max_workers=1)
        self._linted: dict[str, Linted] = {}
        self._turn = 0
        self._settling: asyncio.Future[None] | None = None
        self._told: tuple[str, ...] = ()
        self._shut = False
        self.in_order = True

    def shutdown(self) -> None:
        """End now: the thread that reads is not waited for, since the next line may never come."""
        self._turn += 1
        for pool in (self._worker, self.thread_pool):
            pool.shutdown(wait=False, cancel_futures=True)

    def listen(self) -> None:
        """Wake the loop by the signals that Python handles.

        One that comes while the loop begins to wait for a message would be handled when that comes, or never.
        """
        loop = asyncio.get_running_loop()
        for number in filter(None, (getattr(signal, name, None) for name in _SIGNALS)):
            handler = signal.getsignal(number)
            if callable(handler):
                with suppress(NotImplementedError):  # Windows has no such loop
                    loop.add_signal_handler(number, handler, number, None)

    def shut(self) -> None:
        """Record that the editor asked for the end."""
        self._shut = True

    def leave(self) -> None:
        """Record that the editor leaves, whether it asked before or not."""
        self.in_order = self._shut

    async def refresh(self, pause: float = 0.0, edited: str = "") -> None:
        """Lint all open documents and publish what was found, unless something changes meanwhile.

        Of a document that was ``edited`` a preview comes first, where there can be one.
        """
        self._turn += 1
        turn = self._turn
        settling = self._settling = asyncio.get_running_loop().create_future()
        try:
            await asyncio.sleep(pause)
            if turn == self._turn and await self._previewed(edited, turn):
                await asyncio.sleep(_REST)
            if turn == self._turn:
                await self._analyse(turn)
        finally:
            settling.set_result(None)

    async def _previewed(self, uri: str, turn: int) -> bool:
        """Publish what can be said of an edited document at once; whether there was anything to say."""
        texts = self._texts()
        if uri not in texts:
            return False
        by_path = {_path(each): text for each, text in texts.items()}
        linted = await self._work(lambda: self._session.preview(_path(uri), by_path))
        if linted is None or turn != self._turn or uri not in self._texts():
            return False
        self._publish(uri, linted)
        return True

    async def _analyse(self, turn: int) -> None:
        """Lint all open documents as a whole, unless something changes meanwhile."""
        texts = self._texts()
        by_path = {_path(uri): text for uri, text in texts.items()}

        def checkpoint() -> None:
            if turn != self._turn:
                raise AnalysisCancelled

        async with self._progress(texts):
            try:
                outcome = await self._work(lambda: self._session.lint(by_path, checkpoint))
            except AnalysisCancelled:
                return
        self._take(outcome, texts)

    async def current(self, uri: str, *, wait: bool = False) -> Answers | None:
        """Return the final answers about a document as it is now; ``None`` where it is closed, or changes meanwhile.

        With ``wait`` its project is analysed when the user rests, else now.
        """
        if wait and self._settling is not None and not self._is_final(uri):
            await asyncio.shield(self._settling)
            return self._answers(uri) if self._is_final(uri) else None
        if uri in self._texts() and not self._is_final(uri):
            await self._analyse(self._turn)
        return self._answers(uri) if self._is_final(uri) else None

    def _is_final(self, uri: str) -> bool:
        """Whether what was published of a document are the final findings in its text."""
        return self._is_current(uri) and self._linted[uri].final

    def _is_current(self, uri: str) -> bool:
        """Whether what was published of a document was found in its text."""
        known, text = self._linted.get(uri), self._texts().get(uri)
        return known is not None and text is not None and known.is_of(text)

    @asynccontextmanager
    async def _progress(self, texts: Mapping[str, str]) -> AsyncIterator[None]:
        """Tell the editor of an analysis that takes a while: the first one of a document."""
        window = self.client_capabilities.window
        if window is None or not window.work_done_progress or texts.keys() <= self._linted.keys():
            yield
            return
        token = f"torchlint-{self._turn}"
        await self.work_done_progress.create_async(token)
        self.work_done_progress.begin(token, types.WorkDoneProgressBegin("torchlint", message="analysing the project"))
        try:
            yield
        finally:
            self.work_done_progress.end(token, types.WorkDoneProgressEnd())

    async def fix_all(self, uri: str) -> types.WorkspaceEdit | None:
        """Return the edits that ``--fix`` makes in a document; ``None`` where it makes none."""
        texts, answers = self._texts(), await self.current(uri)
        if answers is None or uri not in texts:
            return None
        by_path = {_path(each): text for each, text in texts.items()}
        fixed = await self._work(lambda: self._fixed(_path(uri), by_path))
        return answers.fix_all(*fixed) if fixed is not None else None

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """Return the page of a rule."""
        uri = self.home(params.text_document.uri)
        answers = self._answers(uri) if self._is_current(uri) else await self.current(uri)
        if answers is None:
            return None
        path = answers.linted.source.path
        try:
            rules, figures = await self._work(lambda: self._session.rules(path))
        except SettingsError:  # it was told when the document was linted
            return None
        return answers.hover(answers.inside(params.text_document.uri, params.position), rules, figures)

    async def explain_hot(self, uri: str, line: int) -> str | None:
        """Explain how often a 0-based line runs; return ``None`` for a document that is not open."""
        answers = await self.current(self.home(uri))
        if answers is None:
            return None
        path = answers.linted.source.path
        cell = answers.cell_of(uri)
        try:
            return await self._work(lambda: self._session.explain(path, line + 1, cell))
        except NoCodeError as error:
            return str(error)

    def forget(self, uri: str, documents: Iterable[str]) -> None:
        """Remove the findings of a closed document in the editor, which knows it under some addresses."""
        self._linted.pop(uri, None)
        for document in documents:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document, []))

    def _fixed(self, path: Path, texts: dict[Path, str]) -> tuple[Source, Source] | None:
        try:
            return self._session.fixed(path, texts)
        except (SettingsError, UnusableError):  # it was told when the document was linted
            return None

    async def _work(self, task: Callable[[], _Answer]) -> _Answer:
        return await asyncio.get_running_loop().run_in_executor(self._worker, task)

    def _take(self, outcome: Outcome, texts: dict[str, str]) -> None:
        """Publish what was found in the documents that are still open."""
        for uri in texts.keys() & self._texts().keys():
            linted = outcome.linted.get(_path(uri))
            if linted is not None and linted.is_of(self._texts()[uri]):
                self._publish(uri, linted)
        told = tuple(dict.fromkeys(outcome.complaints))
        if told != self._told:
            self._told = told
            for complaint in told:
                message = types.ShowMessageParams(types.MessageType.Error, f"torchlint: {complaint}")
                self.window_show_message(message)

    def _publish(self, uri: str, linted: Linted) -> None:
        self._linted[uri] = linted
        for document, version, found in self._answers(uri).published():
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document, found, version))

    def _answers(self, uri: str) -> Answers:
        units = types.PositionEncodingKind(self.workspace.position_encoding or types.PositionEncodingKind.Utf16).value
        opened = {_path(each): (each, self.workspace.get_text_document(each).version) for each in self._texts()}
        if uri in self._notebooks():
            return NotebookAnswers(uri, None, self._linted[uri], units, opened, self._notebooks()[uri])
        version = self.workspace.get_text_document(uri).version
        return Answers(uri, version, self._linted[uri], units, opened)

    def home(self, uri: str) -> str:
        """Return the address of the document that is linted for an address: of a cell, that of its notebook."""
        notebook = self.workspace.get_notebook_document(cell_uri=uri)
        return uri if notebook is None else notebook.uri

    def _notebooks(self) -> dict[str, list[NotebookCell]]:
        """The Python cells of the open notebooks that are files."""
        return {
            notebook.uri: [self._cell(cell.document) for cell in notebook.cells if cell.kind is _CODE]
            for notebook in self.workspace.notebook_documents.values()
            if notebook.uri.startswith("file:")
        }

    def _cell(self, uri: str) -> NotebookCell:
        document = self.workspace.get_text_document(uri)
        return NotebookCell(uri, document.version, document.source)

    def _texts(self) -> dict[str, str]:
        """The open Python documents that are files or are to become one, and notebooks as JSON."""
        # By the address as the editor spells it: the keys of the workspace have lost their escapes.
        documents = ((document.uri, document) for document in self.workspace.text_documents.values())
        texts = {
            uri: document.source
            for uri, document in documents
            if document.language_id in ("python", None, "") and uri.startswith("file:") and not uri.endswith(NOTEBOOK)
        }
        return {**texts, **{uri: as_json(cells) for uri, cells in self._notebooks().items()}}


def _path(uri: str) -> Path:
    path = uris.to_fs_path(uri)
    assert path is not None  # only addresses of files are kept
    return Path(path)


def server(version: str) -> Server:
    """Return a server with all that it answers to."""
    made = Server(version)

    @made.feature(types.INITIALIZE)
    def began(ls: Server, _params: types.InitializeParams) -> None:
        ls.listen()

    @made.feature(types.INITIALIZED)
    def initialized(ls: Server, _params: types.InitializedParams) -> None:
        workspace = ls.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace is not None else None
        if watching is not None and watching.dynamic_registration:
            watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            registration = types.Registration("torchlint-files", method, options)
            ls.client_register_capability(types.RegistrationParams([registration]))

    @made.feature(types.SHUTDOWN)
    def shut(ls: Server, *_: object) -> None:
        ls.shut()

    @made.feature(types.EXIT)
    def left(ls: Server, *_: object) -> None:
        ls.leave()

    @made.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(ls: Server, _params: types.DidOpenTextDocumentParams) -> None:
        await ls.refresh()

    @made.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
        await ls.refresh(_PAUSE, params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(ls: Server, _params: types.DidSaveTextDocumentParams) -> None:
        await ls.refresh()

    @made.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files_changed(ls: Server, _params: types.DidChangeWatchedFilesParams) -> None:
        await ls.refresh(_PAUSE)

    @made.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        ls.forget(uri, [uri])
        await ls.refresh()

    _follow_notebooks(made)
    _answer(made)
    return made


def _follow_notebooks(made: Server) -> None:
    """What the editor says of notebooks."""

    @made.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    async def notebook_opened(ls: Server, _params: types.DidOpenNotebookDocumentParams) -> None:
        await ls.refresh()

    @made.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    async def notebook_changed(ls: Server, params: types.DidChangeNotebookDocumentParams) -> None:
        await ls.refresh(_PAUSE, params.notebook_document.uri)

    @made.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    async def notebook_saved(ls: Server, _params: types.DidSaveNotebookDocumentParams) -> None:
        await ls.refresh()

    @made.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    async def notebook_closed(ls: Server, params: types.DidCloseNotebookDocumentParams) -> None:
        ls.forget(params.notebook_document.uri, [cell.uri for cell in params.cell_text_documents])
        await ls.refresh()


def _answer(made: Server) -> None:
    """What the editor asks for."""
    kinds = [types.CodeActionKind.QuickFix, FIX_ALL]

    @made.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(kinds, resolve_provider=True))
    async def code_actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
        shown, only = params.text_document.uri, params.context.only
        uri = ls.home(shown)
        # Editors ask wherever the cursor goes, also while the user types.
        unasked = params.context.trigger_kind is types.CodeActionTriggerKind.Automatic
        answers = await ls.current(uri, wait=unasked)
        if answers is None:
            return []
        wanted = types.Range(answers.inside(shown, params.range.start), answers.inside(shown, params.range.end))
        actions = list(answers.actions(wanted, only))
        if wants_fix_all(only) and answers.linted.findings:
            action = types.CodeAction("torchlint: fix all safe", FIX_ALL, data={"uri": uri})
            if _resolves(ls.client_capabilities):
                actions.append(action)
            elif (edit := await ls.fix_all(uri)) is not None:
                action.edit = edit
                actions.append(action)
        return actions

    @made.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(ls: Server, action: types.CodeAction) -> types.CodeAction:
        uri = action.data.get("uri") if isinstance(action.data, dict) else None
        if isinstance(uri, str):
            action.edit = await ls.fix_all(uri)
        return action

    @made.command(EXPLAIN_HOT)
    async def explain_hot(ls: Server, uri: str, line: int) -> str | None:
        return await ls.explain_hot(uri, line)

    @made.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
        return await ls.hover(params)


def _resolves(client: types.ClientCapabilities) -> bool:
    """Whether an editor asks for the edit of an action only once it is chosen."""
    document = client.text_document
    action = document.code_action if document is not None else None
    support = action.resolve_support if action is not None else None
    return support is not None and "edit" in support.properties
