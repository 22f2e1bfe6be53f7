"""The server itself: what the editor says, and when the documents are linted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from torchlint.engine.result import UnusableError
from torchlint.server.answers import FIX_ALL, SOURCE, Answers, wants_fix_all
from torchlint.server.session import Linted, Outcome, Session
from torchlint.settings.check import SettingsError
from torchlint.sources.text import Source

_Answer = TypeVar("_Answer")

# Seconds without a keystroke after which a document is linted.
_PAUSE = 0.25
_WATCHED = ("**/*.py", "**/pyproject.toml", "**/torchlint.toml", "**/.torchlint.toml")


# Bytes of a message: no editor sends a text of this size, and memory for it is taken before it arrives.
_LARGEST = 1 << 28
_LENGTH = b"content-length:"


class ProtocolError(Exception):
    """What the other side sends is not a message; the message says why in one line."""


def serve(stdin: BinaryIO, stdout: BinaryIO, version: str) -> bool:
    """Speak the protocol on two streams until the editor says that it is over; ``version`` is torchlint's.

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
        """A line of a head.

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
        super().__init__(SOURCE, version, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self._session = Session()
        self._worker = ThreadPoolExecutor(max_workers=1)
        self._linted: dict[str, Linted] = {}
        self._turn = 0
        self._told: tuple[str, ...] = ()
        self._shut = False
        self.in_order = True

    def shutdown(self) -> None:
        """End now: the thread that reads is not waited for, since the next line may never come."""
        for pool in (self._worker, self.thread_pool):
            pool.shutdown(wait=False, cancel_futures=True)

    def shut(self) -> None:
        """Take note that the editor asked for the end."""
        self._shut = True

    def leave(self) -> None:
        """Take note that the editor leaves, asked for or not."""
        self.in_order = self._shut

    async def refresh(self, pause: float = 0.0) -> None:
        """Lint all open documents and publish what was found, unless something changes meanwhile."""
        self._turn += 1
        turn = self._turn
        await asyncio.sleep(pause)
        if turn != self._turn:
            return
        texts = self._texts()
        outcome = await self._work(lambda: self._session.lint({_path(uri): text for uri, text in texts.items()}))
        if turn != self._turn:
            return
        self._take(outcome, texts)

    async def current(self, uri: str) -> Answers | None:
        """The answers about a document as it is now; ``None`` for one that is not open."""
        texts = self._texts()
        if uri not in texts:
            return None
        known = self._linted.get(uri)
        if known is None or known.source.text != texts[uri]:
            outcome = await self._work(lambda: self._session.lint({_path(each): text for each, text in texts.items()}))
            self._take(outcome, texts)
        return self._answers(uri) if uri in self._linted else None

    async def fix_all(self, uri: str) -> types.WorkspaceEdit | None:
        """The edits that ``--fix`` makes in a document; ``None`` where it makes none."""
        texts, answers = self._texts(), await self.current(uri)
        if answers is None or uri not in texts:
            return None
        by_path = {_path(each): text for each, text in texts.items()}
        fixed = await self._work(lambda: self._fixed(_path(uri), by_path))
        return answers.fix_all(*fixed) if fixed is not None else None

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """The page of a rule."""
        answers = await self.current(params.text_document.uri)
        if answers is None:
            return None
        path = answers.linted.source.path
        try:
            rules, figures = await self._work(lambda: self._session.rules(path))
        except SettingsError:  # it was told when the document was linted
            return None
        return answers.hover(params.position, rules, figures)

    def forget(self, uri: str) -> None:
        """Take the findings of a closed document from the editor."""
        self._linted.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

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
            if linted is not None:
                self._linted[uri] = linted
                answers = self._answers(uri)
                self.text_document_publish_diagnostics(
                    types.PublishDiagnosticsParams(uri, answers.diagnostics(), answers.version)
                )
        told = tuple(dict.fromkeys(outcome.complaints))
        if told != self._told:
            self._told = told
            for complaint in told:
                message = types.ShowMessageParams(types.MessageType.Error, f"torchlint: {complaint}")
                self.window_show_message(message)

    def _answers(self, uri: str) -> Answers:
        document = self.workspace.get_text_document(uri)
        units = self.workspace.position_encoding or types.PositionEncodingKind.Utf16
        opened = {_path(each): (each, self.workspace.get_text_document(each).version) for each in self._texts()}
        return Answers(uri, document.version, self._linted[uri], types.PositionEncodingKind(units).value, opened)

    def _texts(self) -> dict[str, str]:
        """The open Python documents that are files or are to become one."""
        documents = self.workspace.text_documents.items()
        return {
            uri: document.source
            for uri, document in documents
            if document.language_id in ("python", None, "") and uri.startswith("file:") and not uri.endswith(".ipynb")
        }


def _path(uri: str) -> Path:
    path = uris.to_fs_path(uri)
    assert path is not None  # only addresses of files are kept
    return Path(path)


def server(version: str) -> Server:
    """A server with all that it answers to."""
    made = Server(version)

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
    async def changed(ls: Server, _params: types.DidChangeTextDocumentParams) -> None:
        await ls.refresh(_PAUSE)

    @made.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(ls: Server, _params: types.DidSaveTextDocumentParams) -> None:
        await ls.refresh()

    @made.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files_changed(ls: Server, _params: types.DidChangeWatchedFilesParams) -> None:
        await ls.refresh(_PAUSE)

    @made.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
        ls.forget(params.text_document.uri)
        await ls.refresh()

    _answer(made)
    return made


def _answer(made: Server) -> None:
    """What the editor asks for."""
    kinds = [types.CodeActionKind.QuickFix, FIX_ALL]

    @made.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(kinds, resolve_provider=True))
    async def code_actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri, only = params.text_document.uri, params.context.only
        answers = await ls.current(uri)
        if answers is None:
            return []
        actions = list(answers.actions(params.range, only))
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

    @made.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
        return await ls.hover(params)


def _resolves(client: types.ClientCapabilities) -> bool:
    """Whether an editor asks for the edit of an action only once it is chosen."""
    document = client.text_document
    action = document.code_action if document is not None else None
    support = action.resolve_support if action is not None else None
    return support is not None and "edit" in support.properties
