"""Which files are parsed at all: those that mention torch, and what is tied to them by imports."""

from __future__ import annotations

import pytest

from torchlint.engine.gate import passing

AGENT = b"import torch\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.py", b"from agent import Agent\n"),
        ("train.py", b"import agent\n"),
        ("train.py", b"import os, agent as a\n"),
        ("train.py", b"if True:\n    from agent import Agent\n"),
        ("train.py", b"from lib import agent\n"),
        ("train.py", b"from lib import (\n    other,\n    agent,\n)\n"),
        ("train.py", b"from lib import other, \\\n    agent\n"),
        ("train.py", b"from .agent import Agent\n"),
        ("train.py", b"from . import agent\n"),
        ("train.py", b"x = 1; import agent\n"),
        ("train.py", b"import os\r\nimport agent\r\n"),
        ("train.py", b"import os\rimport agent\r"),
        ("train.py", b"\xef\xbb\xbfimport agent\n"),
        ("train.py", b"try: import agent\nexcept ImportError: pass\n"),
        ("train.py", b"from.agent import(Agent)\n"),
    ],
)
def test_importers_of_a_file_that_passes_pass(name: str, text: bytes) -> None:
    assert passing({"agent.py": AGENT, name: text, "stranger.py": b"import os\n"}) == {"agent.py", name}


@pytest.mark.parametrize(
    "text",
    [
        b"import torch\nimport replay\n",
        b"import torch\nfrom replay import Buffer\n",
        b"import torch\nfrom lib import (  # these\n    first,  # ) not the end\n    replay,\n)\n",
        b"import torch\nfrom .replay import Buffer\n",
    ],
)
def test_what_a_file_that_passes_imports_passes(text: bytes) -> None:
    assert passing({"agent.py": text, "replay.py": b"", "other.py": b""}) == {"agent.py", "replay.py"}


def test_the_gate_widens_until_nothing_is_added() -> None:
    texts = {
        "a.py": b"import b",
        "b.py": b"import c",
        "c.py": b"import torch\nimport d",
        "d.py": b"import e",
        "e.py": b"",
    }
    assert passing(texts) == frozenset(texts)


def test_without_a_gate_word_nothing_passes() -> None:
    assert passing({"a.py": b"import b", "b.py": b"import os"}) == frozenset()


def test_a_package_is_known_by_its_folder() -> None:
    texts = {"lib/__init__.py": b"import torch", "train.py": b"import lib", "other.py": b"import os"}
    assert passing(texts) == {"lib/__init__.py", "train.py"}


def test_what_lies_below_an_imported_package_stays_out() -> None:
    texts = {"lib/net.py": b"import torch", "lib/__init__.py": b"", "train.py": b"from lib.net import Net"}
    assert passing(texts) == frozenset(texts)


def test_a_star_through_a_package() -> None:
    texts = {
        "lib/__init__.py": b"from .net import *",
        "lib/net.py": b"import torch",
        "train.py": b"from lib import Net",
        "other.py": b"from os import path",
    }
    assert passing(texts) == {"lib/__init__.py", "lib/net.py", "train.py"}


def test_names_beyond_ascii() -> None:
    texts = {"agént.py": b"import torch", "train.py": "import agént".encode(), "other.py": b"import agent"}
    assert passing(texts) == {"agént.py", "train.py"}


def test_texts_that_only_begin_like_imports_cost_no_time() -> None:
    text = b"import (" + b"# x\n" * 20_000 + b"import (" * 5_000
    assert passing({"a.py": b"import torch", "b.py": text}) == {"a.py"}


def test_other_words() -> None:
    assert passing({"a.py": b"import jax"}, [b"jax"]) == {"a.py"}
