"""What the editor is told, in the terms of the protocol: diagnostics, code actions, hovers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import MappingProxyType

from lsprotocol import types
from pygls import uris

from torchlint.engine.figures import Shipped
from torchlint.engine.known import rows_of
from torchlint.late import dataclass, regex
from torchlint.report.change import effects
from torchlint.report.context import page_of
from torchlint.report.cost import cost_of
from torchlint.report.explain import as_markdown, explain
from torchlint.rule import Applicability, Edit, Finding, Hop, Level, PlainFix, Position, Rule
from torchlint.server.changes import as_in_file
from torchlint.server.positions import Place, Positions
from torchlint.server.session import Linted
from torchlint.sources.between import between
from torchlint.sources.noqa import with_noqa
from torchlint.sources.text import Source

SOURCE = "torchlint"
FIX_ALL = "source.fixAll.torchlint"

_SEVERITIES: Mapping[Level, types.DiagnosticSeverity] = MappingProxyType(
    {
        Level.NOTE: types.DiagnosticSeverity.Information,
        Level.WARNING: types.DiagnosticSeverity.Warning,
        Level.ERROR: types.DiagnosticSeverity.Error,
    }
)
_CODE = regex(r"[A-Z]{2,}\d{3}")


@dataclass(frozen=True)
class Answers:
    """The answers about one document.

    Attributes:
        uri: of the document, as the editor writes it. version: of its text, where the editor counts.
        linted: what was found. units: in which the editor counts columns.
        opened: the address and the version of each open document, by its path.
    """

    uri: str
    version: int | None
    linted: Linted
    units: str
    opened: Mapping[Path, tuple[str, int | None]] = field(default_factory=dict)

    @property
    def _positions(self) -> Positions:
        return Positions(self.linted.source, self.units)

    def published(self) -> Iterator[tuple[str, int | None, list[types.Diagnostic]]]:
        """Yield address, version and diagnostics of each document that the editor knows this one as."""
        yield self.uri, self.version, [diagnostic for _, diagnostic in self.diagnostics()]

    def diagnostics(self) -> Iterator[tuple[str, types.Diagnostic]]:
        """Yield one diagnostic for each finding, with the hot path as related information, and where it stands."""
        for finding in self.linted.findings:
            uri, _ = self._located(self._positioned(finding.start, finding.end))
            yield uri, self._diagnostic(finding)

    def inside(self, uri: str, place: types.Position) -> types.Position:  # noqa: ARG002  a notebook has several
        """Return the place in the linted text for a place of a document that the editor knows."""
        return place

    def cell_of(self, uri: str) -> int | None:  # noqa: ARG002  a notebook has several
        """Return the number of the cell that a document is; ``None``: it is a file."""
        return None

    def actions(self, wanted: types.Range, only: Sequence[str] | None) -> Iterator[types.CodeAction]:
        """Yield a quick fix for each finding that touches a range, and a comment that silences it."""
        if not _asked(types.CodeActionKind.QuickFix, only):
            return
        for finding in self._touching(wanted):
            for fix in _alternatives(finding.fix):
                if fix.applicability is not Applicability.DISPLAY:
                    preferred = fix is finding.fix and fix.applicability is Applicability.SAFE
                    edit = self._fixed(fix)
                    if edit is not None:
                        yield self._action(_title(finding.code, fix), finding, edit, preferred=preferred)
        for finding in self._touching(wanted):
            after, left = with_noqa(self.linted.source, [finding], "")
            if not left and finding.level is not Level.ERROR:
                title = f"Ignore {finding.code} on this line"
                edits = self._edited(between(self.linted.source, after), self.linted.source)
                if edits is not None:
                    yield self._action(title, finding, _together(edits), preferred=False)

    def fix_all(self, before: Source, after: Source) -> types.WorkspaceEdit | None:
        """Return the edits that make one text of the document another."""
        edits = self._edited(between(before, after), before)
        return None if edits is None else _together(edits)

    def hover(
        self, place: types.Position, rules: Mapping[str, type[Rule]], figures: Mapping[str, Shipped]
    ) -> types.Hover | None:
        """Return the page of the rule of the finding at a place, or of the code that stands there."""
        position = self._positions.position((place.line, place.character))
        for finding in self.linted.findings:
            if finding.start <= position <= finding.end and finding.code in rules:
                text = "\n\n".join([*_case(finding), "---", _page(rules[finding.code], figures)])
                return _hover(text, self._range(finding.start, finding.end))
        return self._hover_of_code(position, rules, figures)

    def _hover_of_code(
        self, position: Position, rules: Mapping[str, type[Rule]], figures: Mapping[str, Shipped]
    ) -> types.Hover | None:
        for match in _CODE.finditer(self._positions.line(position.row)):
            if match.start() < position.column <= match.end() + 1 and match[0] in rules:
                start, end = (Position(position.row, edge + 1) for edge in match.span())
                return _hover(_page(rules[match[0]], figures), self._range(start, end))
        return None

    def _diagnostic(self, finding: Finding) -> types.Diagnostic:
        told = [finding.message]
        if finding.hot.told:
            told.append(f"hot: {finding.hot.phrase if finding.hot.path else finding.hot.describe()}")
        if cost := cost_of(finding):
            told.append(f"cost: {cost}")
        return types.Diagnostic(
            range=self._range(finding.start, finding.end),
            message="\n".join(told),
            severity=_SEVERITIES[finding.level],
            code=finding.code,
            code_description=types.CodeDescription(page) if (page := page_of(self.linted.docs, finding)) else None,
            source=SOURCE,
            related_information=[*self._hot_path(finding), *self._flow(finding)],
            data={"fingerprint": finding.fingerprint},
        )

    def _hot_path(self, finding: Finding) -> Iterator[types.DiagnosticRelatedInformation]:
        for number, hop in enumerate(finding.hot.path):
            yield self._related(hop, f"hot here: {hop.name}" if number == 0 else f"→ {hop.name}")

    def _flow(self, finding: Finding) -> Iterator[types.DiagnosticRelatedInformation]:
        for number, hop in enumerate(finding.flow):
            yield self._related(hop, f"its value goes to: {hop.name}" if number == 0 else f"→ {hop.name}")

    def _related(self, hop: Hop, words: str) -> types.DiagnosticRelatedInformation:
        row = max(hop.row - 1, 0)
        place = types.Range(types.Position(row, 0), types.Position(row + 1, 0))
        path = self.linted.root / hop.path
        # The document itself keeps the spelling that the editor gave it.
        if path == self.linted.source.path:
            uri, place = self._located(place)
        else:
            uri = uris.from_fs_path(str(path)) or self.uri
        return types.DiagnosticRelatedInformation(types.Location(uri, place), words)

    def _touching(self, wanted: types.Range) -> list[Finding]:
        """The findings on whose rows, or on the rows of whose statement, a range lies; what it touches itself first."""
        first, last = wanted.start.line + 1, wanted.end.line + 1
        near = [each for each in self.linted.findings if rows_of(each).start <= last and first < rows_of(each).stop]
        start, end = (_place(place) for place in (wanted.start, wanted.end))
        place = self._positions.place
        return sorted(near, key=lambda each: not (place(each.start) <= end and start <= place(each.end)))

    def _action(self, title: str, finding: Finding, edit: types.WorkspaceEdit, *, preferred: bool) -> types.CodeAction:
        return types.CodeAction(
            title=title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[self._diagnostic(finding)],
            is_preferred=preferred,
            edit=edit,
        )

    def _fixed(self, fix: PlainFix) -> types.WorkspaceEdit | None:
        """The edits of a fix in the document and in other files, which the editor makes together."""
        source = self.linted.source
        own = self._edited(as_in_file(source, fix.edits), source) if fix.edits else []
        if own is None:
            return None
        return _together([*own, *(self._other(self.linted.others[name], edits) for name, edits in fix.in_files)])

    def _edited(self, edits: Iterable[Edit], source: Source) -> list[types.TextDocumentEdit] | None:
        """Edits of a text of this document as the editor takes them; ``None`` where it has no place for one."""
        document = types.OptionalVersionedTextDocumentIdentifier(uri=self.uri, version=self.version)
        return [self._edits(document, source, edits)]

    def _other(self, source: Source, edits: Sequence[Edit]) -> types.TextDocumentEdit:
        uri = self.opened.get(source.path) or (uris.from_fs_path(str(source.path)) or "", None)
        document = types.OptionalVersionedTextDocumentIdentifier(uri=uri[0], version=uri[1])
        return self._edits(document, source, as_in_file(source, edits))

    def _edits(
        self, document: types.OptionalVersionedTextDocumentIdentifier, source: Source, edits: Iterable[Edit]
    ) -> types.TextDocumentEdit:
        positions = Positions(source, self.units)
        return types.TextDocumentEdit(document, [_text_edit(positions, edit) for edit in edits])

    def _range(self, start: Position, end: Position) -> types.Range:
        return self._located(self._positioned(start, end))[1]

    def _positioned(self, start: Position, end: Position) -> types.Range:
        return _range(self._positions.place(start), self._positions.place(end))

    def _located(self, found: types.Range) -> tuple[str, types.Range]:
        """The document of the editor that holds a range of the text, and the range in it."""
        return self.uri, found


def _alternatives(fix: PlainFix | None) -> Iterator[PlainFix]:
    """A fix, and those that are there in its place."""
    while fix is not None:
        yield fix
        fix = fix.instead


def _together(documents: Iterable[types.TextDocumentEdit]) -> types.WorkspaceEdit:
    """Edits of several documents as one, which the editor shows and undoes as one."""
    changes: list[types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile] = [*documents]
    return types.WorkspaceEdit(document_changes=changes)


def wants_fix_all(only: Sequence[str] | None) -> bool:
    """Return whether an editor asks for the action that fixes everything, by its kind or with all kinds."""
    return _asked(FIX_ALL, only)


def _asked(kind: str, only: Sequence[str] | None) -> bool:
    return only is None or any(kind == each or kind.startswith(f"{each}.") for each in only)


def _title(code: str, fix: PlainFix) -> str:
    """What a fix does, and what it may change where it is not safe."""
    safe = fix.applicability is Applicability.SAFE
    return f"{fix.message} ({code})" if safe else f"{fix.message} ({code}; {effects(fix)})"


def _case(finding: Finding) -> Iterator[str]:
    yield f"**{finding.code}** {finding.message}"
    if finding.hot.told:
        yield f"hot: {finding.hot.describe()}"
    if cost := cost_of(finding):
        yield f"cost: {cost}"


def _page(rule: type[Rule], figures: Mapping[str, Shipped]) -> str:
    known = figures.get(rule.code, Shipped())
    return as_markdown([explain(rule, known.costs, known.counts)])


def _hover(text: str, where: types.Range) -> types.Hover:
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), where)


def _text_edit(positions: Positions, edit: Edit) -> types.TextEdit:
    return types.TextEdit(_range(positions.at(edit.start), positions.at(edit.end)), edit.text)


def _range(start: Place, end: Place) -> types.Range:
    return types.Range(types.Position(*start), types.Position(*end))


def _place(position: types.Position) -> Place:
    return position.line, position.character
