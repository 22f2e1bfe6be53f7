"""All pages of the site: those that are written, those that are made, and those of files that they link to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torchlint.engine.rules import load_rules
from torchlint.rule import Rule
from website.measured import Measured, measurements
from website.mentions import linked
from website.plot import plot
from website.reference import commands_page, settings_page
from website.rules import address, rule_pages
from website.sources import LINK, Links, source_address, source_page
from website.terminal import shown

_INCLUDED = {"readme.md": "README.md", "contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
_MEASURED = "<!-- plot of all rules -->"


@dataclass(frozen=True, slots=True)
class Site:
    """The pages of the site, as Markdown.

    Attributes:
        written: texts of the files in ``docs``, as they are. made: texts of generated pages. Both by address.
        root: of the repository. rules: that the pages are about. measured: what was timed for them.
    """

    root: Path
    rules: Sequence[type[Rule]]
    measured: Sequence[Measured]
    written: dict[str, str]
    made: dict[str, str]

    @classmethod
    def of(cls, root: Path) -> Site:
        """Make the pages for the built-in rules."""
        rules, measured = load_rules(), measurements(root / "docs" / "benchmarks")
        docs = root / "docs"
        written = {path.relative_to(docs).as_posix(): path.read_text(encoding="utf-8") for path in docs.rglob("*.md")}
        made = {
            **rule_pages(rules, measured),
            "settings.md": settings_page(),
            "cli.md": commands_page(),
            **{page: _included(root / name) for page, name in _INCLUDED.items()},
        }
        site = cls(root, rules, measured, written, made)
        site.made.update((source_address(name), source_page(root, name)) for name in sorted(site._linked_files()))
        return site

    @property
    def addresses(self) -> frozenset[str]:
        """The addresses of all pages."""
        return frozenset({**self.written, **self.made})

    def text(self, page: str, run: bool = True) -> str:
        """Return the final Markdown of a page; without ``run`` the commands that it shows are not run."""
        text = {**self.written, **self.made}[page]
        if page.startswith("source/"):
            return text
        text = Links(self.root, self.addresses).rewritten(text, page)
        text = linked(text, page, {rule.code for rule in self.rules})
        text = text.replace(_MEASURED, self._all_measured()) if _MEASURED in text else text
        return shown(text, self.root / "examples" / "agent") if run else text

    def navigation(self) -> list[dict[str, object]]:
        """Return the rules for the menu: their list, then a group for each family."""
        from website.rules import families

        groups: list[dict[str, object]] = [{"All rules": "rules/index.md"}]
        for family, members in families(self.rules).items():
            groups.append({family: [{f"{rule.code} {rule.name}": address(rule.code)} for rule in members]})
        return groups

    def _linked_files(self) -> set[str]:
        links = Links(self.root, self.addresses)
        texts = {**self.written, **self.made}
        found = {name for page, text in texts.items() for name in links.outside(text, page)}
        return {name for name in found if name not in _INCLUDED.values()}

    def _all_measured(self) -> str:
        rows = sorted(self.measured, key=lambda row: (row.device, -row.ratio))
        parts: list[str] = []
        for machine in dict.fromkeys(f"{row.device.upper()}: {row.machine}" for row in rows):
            mine = [row for row in rows if f"{row.device.upper()}: {row.machine}" == machine]
            drawing = plot(mine, name=lambda row: f"{row.code} {row.example}")
            parts.append(
                f'<figure class="tl-figure">\n{drawing}\n<figcaption>{machine}, one thread</figcaption>\n</figure>'
            )
        return "\n\n".join(parts)


def _included(path: Path) -> str:
    """A document of the repository's root as a page of the site: its links start in ``docs`` now."""

    def moved(match: re.Match[str]) -> str:
        target = match["target"]
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            return match[0]
        inside = target.removeprefix("docs/") if target.startswith("docs/") else f"../{target}"
        return f"{match['before']}{inside}{match['anchor'] or ''})"

    return LINK.sub(moved, path.read_text(encoding="utf-8"))
