"""Hands the pages of the site to MkDocs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

from website.pages import Site

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_RULES = "RULES"
# Pages with tables that need the room of the menus beside them.
_WIDE = ("comparison.md",)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the rules to the menu at its mark."""
    site = _site(config)
    for item in config.nav or ():
        for title, entry in item.items():
            if entry == [_RULES]:
                item[title] = site.navigation()
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made."""
    for page, text in _site(config).made.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(_markdown: str, page: Page, config: MkDocsConfig, **_more: object) -> str:
    """Return the final text of a page; MkDocs has removed its front matter already."""
    text = _site(config).text(page.file.src_uri)
    if page.file.src_uri in _WIDE:
        page.meta["hide"] = ["navigation", "toc"]
    if text.startswith("---\n"):
        text = text.split("\n---\n", 1)[1]
    return text


def _site(config: MkDocsConfig) -> Site:
    """The site, made once for a build and kept with its settings."""
    site = config.extra.get("torchlint_site")
    if not isinstance(site, Site):
        site = Site.of(Path(config.config_file_path).parent)
        config.extra["torchlint_site"] = site
    return site
