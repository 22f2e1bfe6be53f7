"""Linting the open documents: all of a project together, their texts in place of the files."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import field, replace
from pathlib import Path

from torchlint.engine.explaining import explain_open
from torchlint.engine.figures import Shipped, shipped
from torchlint.engine.preview import previewed
from torchlint.engine.result import NoCodeError, Result, UnusableError
from torchlint.engine.rules import load_rules
from torchlint.engine.run import Reach, check
from torchlint.engine.session_state import SessionState
from torchlint.late import dataclass
from torchlint.report.hotness import render
from torchlint.rule import Finding, Rule
from torchlint.settings.check import SettingsError
from torchlint.settings.load import Nested, load_settings
from torchlint.settings.model import Settings
from torchlint.settings.root import located, project_root
from torchlint.sources.globs import Globs
from torchlint.sources.notebook import NotebookError, read_notebook
from torchlint.sources.text import Source

NOTEBOOK = ".ipynb"
# Columns of what explains a line.
_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Linted:
    """What was found in the text of one document; ``root`` is the folder that paths in findings start from.

    ``docs`` is the address of the documentation of the rules, empty where there is none. ``others`` are the texts of
    the other files that fixes change, by name. ``final``: its project was analysed as a whole. ``text`` is what the
    editor has: of a notebook, JSON.
    """

    source: Source
    root: Path
    findings: tuple[Finding, ...] = ()
    docs: str = ""
    others: Mapping[str, Source] = field(default_factory=dict)
    final: bool = True
    text: str = ""

    def is_of(self, text: str) -> bool:
        """Return whether it was found in this text."""
        return self.text == text


@dataclass(slots=True)
class Outcome:
    """What became of all documents, by path, and what there is to tell the user."""

    linted: dict[Path, Linted] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)


def _go_on() -> None:
    """Let the work go on."""


@dataclass(slots=True)
class Session:
    """The work of one server; not for two threads at once."""

    _states: dict[Path, SessionState] = field(default_factory=dict)
    _checkpoint: Callable[[], None] = _go_on

    def preview(self, path: Path, texts: Mapping[Path, str]) -> Linted | None:
        """Return what is known of an edited document at once, ``None`` if its project must be analysed as a whole."""
        root = project_root(path)
        state = self._states.get(root)
        if state is None:
            return None
        sources = [_source(each, text, root) for each, text in texts.items() if project_root(each) == root]
        source = next(source for source in sources if source.path == path)
        with _uncollected():
            found = previewed(state, source.name, {each.name: each for each in sources})
        if found is None or state.run is None:
            return None
        return Linted(source, root, tuple(found), state.run.settings.docs_url or "", final=False, text=texts[path])

    def lint(self, texts: Mapping[Path, str], checkpoint: Callable[[], None] = _go_on) -> Outcome:
        """Lint open documents by their absolute paths, whether there are such files or not.

        ``checkpoint`` is called again and again, and may raise ``AnalysisCancelled``.
        """
        self._checkpoint = checkpoint
        try:
            return self._lint(texts)
        finally:
            self._checkpoint = _go_on

    def _lint(self, texts: Mapping[Path, str]) -> Outcome:
        outcome = Outcome()
        by_root: dict[Path, dict[Path, str]] = {}
        for path, text in texts.items():
            by_root.setdefault(project_root(path), {})[path] = text
        for root in self._states.keys() - by_root.keys():
            del self._states[root]
        for root, mine in by_root.items():
            sources = {path: _source(path, text, root) for path, text in mine.items()}
            outcome.linted.update((path, Linted(source, root, text=mine[path])) for path, source in sources.items())
            try:
                settings = _settings(root, fix=False)
                result = self._check(settings, list(sources.values()))
            except (SettingsError, UnusableError) as error:
                outcome.complaints.append(str(error))
                continue
            outcome.complaints.extend(f"{each.path}: {each.message}" for each in result.problems)
            for path, source in sources.items():
                own = tuple(finding for finding in result.findings if finding.path == source.name)
                changed = {name for finding in own if finding.fix for name, _ in finding.fix.in_files}
                others = {name: result.sources[name] for name in changed}
                outcome.linted[path] = Linted(source, root, own, settings.docs_url or "", others, text=mine[path])
        return outcome

    def fixed(self, path: Path, texts: Mapping[Path, str]) -> tuple[Source, Source] | None:
        """Return a document before and after ``--fix``; ``None`` where that changes nothing.

        Raises:
            SettingsError: the settings are wrong, or a rule package cannot be used.
            UnusableError: the baseline cannot be read.
        """
        root = project_root(path)
        sources = [_source(each, text, root) for each, text in texts.items() if project_root(each) == root]
        result = self._check(_settings(root, fix=True), sources)
        file = next((file for file in result.fixed.values() if file.before.path == path), None)
        return (file.before, file.after) if file is not None else None

    def explain(self, path: Path, row: int, cell: int | None = None) -> str:
        """Explain how often a line of a document, or of a cell, runs, as text, by the last run over it.

        Raises:
            NoCodeError: no statement stands on that row, or the text cannot be read.
        """
        root = project_root(path)
        name = Path(os.path.relpath(located(path), root)).as_posix()
        state = self._states.get(root)
        if state is None:
            raise NoCodeError(f"{name} is not open")
        why = explain_open(state, name, row, cell=cell)
        return render(f"{name}:{f'cell {cell}:' if cell else ''}{row}", why, color=False, unicode=True, width=_WIDTH)

    def rules(self, path: Path) -> tuple[Mapping[str, type[Rule]], Mapping[str, Shipped]]:
        """Return all rules that a document's settings know and what was measured and counted for them, by code.

        Raises:
            SettingsError: the settings are wrong, or a rule package cannot be used.
        """
        plugins = load_settings(path.parent, overrides={}).plugins
        return {rule.code: rule for rule in load_rules(plugins)}, shipped(plugins)

    def _check(self, settings: Settings, sources: Sequence[Source]) -> Result:
        own = Nested(settings, {})
        opened = [source for source in sources if _is_linted(source, own(source.path))]
        state = self._states.setdefault(settings.root, SessionState(self._check_in))
        reach = Reach.OWN if settings.fix else Reach.PROJECT
        with _uncollected() if state.run is None else nullcontext():  # the first analysis lets go of nothing
            return check((), settings, own=own, opened=opened, parsed=state.parsed, reach=reach, session=state)

    def _check_in(self) -> None:
        self._checkpoint()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Search for garbage later: to go through all objects that there are takes longer than many an answer."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _settings(root: Path, *, fix: bool) -> Settings:
    # One process: a server with threads must not fork, and waits for the next keystroke anyway.
    return replace(load_settings(root, overrides={}, root=root), fix=fix, diff=False, jobs=1)


def _is_linted(source: Source, settings: Settings) -> bool:
    """Whether Python could read a text, and the settings do not leave the document out."""
    if "\0" in source.text or (source.path.suffix == NOTEBOOK and source.notebook is None):
        return False
    return not Globs((*settings.exclude, *settings.extend_exclude), settings.root).covers(source.path)


def _source(path: Path, text: str, root: Path) -> Source:
    name = Path(os.path.relpath(located(path), root)).as_posix()
    utf8 = text.encode("utf-8", "replace")
    if path.suffix == NOTEBOOK:
        with suppress(NotebookError):
            return read_notebook(utf8, path, name)
    return Source(path, name, utf8.decode(), utf8, raw=utf8)
