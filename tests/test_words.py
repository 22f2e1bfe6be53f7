"""What users read is short and plain: messages of rules, by the golden texts of what is found in fixtures and examples;
help, errors and documentation, by a list of words.
"""

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT

from torchlint.engine.rules import load_rules
from torchlint.report.words import TITLE, title_and_cure

pytestmark = pytest.mark.once
GOLDEN = Path(__file__).parent / "golden"
LINE = re.compile(r"\d+:\d+-\d+:\d+ (?P<code>[A-Z]+\d+) .* \| (?P<message>.*) #[0-9a-f]{8}")
CODE = re.compile(r"``[^`]*``|`[^`]*`")
# Words that take the place of a plainer one.
UNWANTED = re.compile(r"\banew\b|\bnobody\b|\bin vain\b|\bis no [a-z]|\bso often\b|\(on CUDA\)|the host waits")
GLOSSARY = ROOT / "docs" / "glossary.md"
ROW = re.compile(r"^\| `([a-z ]+)` \| ([^|]+) \|$", re.MULTILINE)
# What docstrings and comments do not say either, each with what to write in its place.
AVOIDED = dict(ROW.findall(GLOSSARY.read_text(encoding="utf-8").partition("## Words to avoid")[2]))
# In documentation, help and errors: patterns, and what to write in their place.
PLAINER = {
    **{rf"\b{words}\b": better for words, better in AVOIDED.items()},
    r"\btold\b(?! apart)": "reported, named, set",
    r"(?<!here )\bis no (?!longer\b|more\b|higher\b)[a-z]": "is not a",
}
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
CODE_OF = ("torchlint", "rules", "benchmarks", "website", "tests", "examples")


def wordy(text):
    """The unwanted words of a text, each with what to write in its place; code and what others wrote are left out."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    return {match[0]: better for pattern, better in PLAINER.items() for match in re.finditer(pattern, text, re.I)}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_documentation_is_plain(page):
    text = page.read_text(encoding="utf-8")
    assert wordy(text) == {}


def said(tree, is_rule):
    """The strings of a module that a user may read: all but docstrings, and those of commands and rules, too."""
    inner = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            command = isinstance(node, ast.FunctionDef) and any(
                "command" in ast.unparse(d) for d in node.decorator_list
            )
            if not command and not (is_rule and isinstance(node, ast.ClassDef)):
                inner.add(node.body[0].value)
        elif isinstance(node, ast.Expr):
            inner.add(node.value)  # what stands below a field
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value and node not in inner
    ]


@pytest.mark.parametrize("folder", ["torchlint", "rules"])
def test_help_errors_and_pages_of_rules_are_plain(folder):
    wrong = {
        f"{path.relative_to(ROOT)}: {' '.join(text.split())[:60]}": words
        for path in sorted((ROOT / folder).rglob("*.py"))
        for text in said(
            ast.parse(path.read_text(encoding="utf-8")), not path.name.startswith("_") and folder == "rules"
        )
        if (words := wordy(text))
    }
    assert wrong == {}


def notes(text):
    """The comments and docstrings of a module, without the code that they quote."""
    tree = ast.parse(text)
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docstrings = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, documented)]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return [CODE.sub("", note) for note in [*docstrings, *comments] if note]


def avoided():
    """A pattern of all words that the glossary says to avoid."""
    return re.compile("|".join(rf"\b{words}\b" for words in AVOIDED), re.IGNORECASE)


@pytest.mark.parametrize("folder", CODE_OF)
def test_docstrings_and_comments_avoid_the_words_of_the_glossary(folder):
    pattern, wrong = avoided(), {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        if path != Path(__file__) and pattern.search(text):
            found = [match[0] for note in notes(text) for match in pattern.finditer(note)]
            wrong |= {path.relative_to(ROOT).as_posix(): found} if found else {}
    assert wrong == {}


def test_the_words_of_the_glossary_are_seen():
    assert len(AVOIDED) > 10
    (note,) = [note for note in notes("# It is built anew, not `anew`.\nx = 'anew'\n") if avoided().search(note)]
    assert note == "# It is built anew, not ."


# What a noun clause begins with. A docstring of a function says what the function does: `Return whether ...`.
OPENERS = frozenset(
    "the a an all any one some none no both each every everything another other others something nothing those "
    "these this that it its itself whether what which how why where when who whose of for by as from in into at "
    "on with within without beside before after between behind if first last only most half two new old written "
    "ordinary qualified dotted unique own source text texts names value values path paths lines row rows files "
    "method methods python settings findings results problems functions classes packages calls edits arguments "
    "attributes assignments bindings identifiers indices groups pairs kinds bytes seconds microseconds data "
    "definitions expressions statements operations codes cells comments errors builtins ratios arithmetic "
    "median".split()
)


def opener(docstring):
    """The first word of a docstring if it does not say what the function does: a noun, a preposition, quoted code."""
    word = docstring.split()[0].rstrip(".,:;")
    return word if word.lower() in OPENERS or not word[0].isalpha() else None


def public_functions(text):
    """The public functions of a module that a caller calls: no properties, overloads and commands."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            decorators = " ".join(ast.unparse(decorator) for decorator in node.decorator_list)
            if not re.search(r"property|overload|command|option|\.group\b", decorators):
                yield node


@pytest.mark.parametrize("folder", ["torchlint", "rules", "website"])
def test_docstrings_of_public_functions_begin_with_a_verb(folder):
    wrong, seen = {}, 0
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in public_functions(path.read_text(encoding="utf-8")):
            if docstring := ast.get_docstring(node):
                seen += 1
                if word := opener(docstring):
                    wrong[f"{path.relative_to(ROOT).as_posix()}:{node.lineno} {node.name}"] = word
    assert seen > 10
    assert wrong == {}


@pytest.mark.parametrize(
    ("docstring", "word"),
    [
        ("Whether it is hot.", "Whether"),
        ("``TL101 [*]``: the code.", "``TL101"),
        ("32 hexadecimal digits.", "32"),
        ("Return whether it is hot.", None),
        ("Names the file.", "Names"),
    ],
)
def test_a_noun_clause_at_the_beginning_of_a_docstring_is_seen(docstring, word):
    assert opener(docstring) == word


def test_unwanted_words_are_seen_with_what_to_write():
    assert wordy("It is no list of `told` names.") == {"is no l": "is not a"}
    assert wordy("There is no list, and it is no longer read.") == {}
    assert wordy("Nobody is told.").keys() == {"Nobody", "told"}


@cache
def messages():
    found = {}
    for path in sorted(GOLDEN.glob("fixtures/*.txt")) + sorted(GOLDEN.glob("examples/*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if match := LINE.fullmatch(line):
                found.setdefault((match["code"], match["message"]), path.name)
    assert len({code for code, _ in found}) > 90
    return found


def test_titles_are_short():
    """What stands before the cure has at most 100 characters, with the code that it quotes as long as it is."""
    titles = {message.removesuffix(title_and_cure(message)[1]).rstrip(";: ") for _, message in messages()}
    assert {title for title in titles if len(title) > TITLE} == set()


def test_titles_name_no_place_that_would_make_them_long():
    named = {(code, title_and_cure(message)[0]) for code, message in messages() if re.search(r"\w\.py:\d", message)}
    assert {title for _, title in named if re.search(r"\w\.py:\d", title)} == set()


def test_messages_are_plain():
    assert {message for _, message in messages() if UNWANTED.search(CODE.sub("", message))} == set()


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.code) for rule in load_rules()])
def test_the_title_of_a_rule_is_short_and_plain(rule):
    assert len(rule.summary) <= TITLE
    assert not UNWANTED.search(CODE.sub("", rule.summary))


@pytest.mark.parametrize("length", [30, 39, 60, 300])
def test_long_code_in_a_title_is_shortened(length):
    title, cure = title_and_cure(f"`{'x' * length}` forces a GPU sync; keep `{'y' * length}`")
    assert len(title) <= TITLE
    assert title.endswith("` forces a GPU sync")
    assert cure == f"keep `{'y' * length}`"
    assert len(title_and_cure("word " * 90)[0]) <= TITLE
