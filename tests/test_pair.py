from __future__ import annotations

import ast
import sys

import libcst as cst
import pytest
from pairing import parse, read_source, source_of, stdlib_files, unpaired, wrong_twins

from torchlint.engine.pair import PairingError, Pairs, pair
from torchlint.engine.reference import whole_file

pytestmark = pytest.mark.versions

STATEMENTS = [
    "x",
    "None",
    "x = True, False, ...",
    "x = 1, 2.5, 3j, 0x_ff, 'a', b'b', r'\\c'",
    "x = 'a' 'b' 'c'",
    "x = b'a' b'b'",
    "x = f'{a}{b!r:>{w}.{p}}c'",
    "x = 'a' f'{b}' 'c' f'{d:{e}}'",
    "x = f'a' 'b'",
    "x = f'{a=}{b = !r}'",
    "x = f'{f\"{a}\"}'",
    "x = f'{a:%Y-%m}' f'''{\nb}'''",
    "x = f'{{}}'",
    "x = (f'{a}'\n     f'{b}')",
    "a.b.c(d).e[f]",
    "(a.b)(c)",
    "f(a, *b, c, *d, k=e, **g, m=h)",
    "f(x for x in y)",
    "f((x for x in y), 1)",
    "f(a := 1, (b := 2))",
    "f()(g())",
    "x[1]",
    "x[a, b]",
    "x[a,]",
    "x[(a, b)]",
    "x[()]",
    "x[a:b:c, ::2, ..., None]",
    "x[a:]",
    "x[:, 0]",
    "x[a := 1]",
    "x[lambda: 0]",
    "a and b and c",
    "(a and b) and c",
    "a and (b and c)",
    "a and b or c and not d or e",
    "a or b or c or d",
    "(a or b) or c",
    "a < b <= c != d == e > f >= g",
    "a in b not in c is d is not e",
    "-a + +b - ~c * d / e // f % g ** h @ i << j >> k & l | m ^ n",
    "not a",
    "a if b else c if d else e",
    "lambda: 0",
    "lambda a, /, b=1, *c, d, e=2, **f: (a, b)",
    "lambda *, a: a",
    "lambda a, b=1, /, c=2: 0",
    "(a, *b), [c, *d], {e, *f}, {g: h, **i, j: k}",
    "[], (), {}",
    "[a for b in c if d if e for f in g]",
    "{a for b in c}, {a: b for a, b in c}, (a for a in b)",
    "[[a for a in b] for b in [c for c in d]]",
    "x = await a",
    "[a async for a in b]",
    "x = yield",
    "x = yield a, b",
    "yield from a",
    "(y := f(x))",
    "a = b = c, d = e",
    "a, (b, *c) = [d, e] = f",
    "*a, b = c",
    "a: int",
    "a.b: List[int] = c",
    "a += 1",
    "a @= b",
    "a[i] //= b",
    "a >>= b; c <<= d; e **= f",
    "del a",
    "del a, b",
    "del a,",
    "del (a, b)",
    "del (a), b[0]",
    "del [a]",
    "return",
    "return a, *b",
    "raise",
    "raise a",
    "raise a from b",
    "assert a",
    "assert a, b",
    "global a, b",
    "nonlocal a",
    "import a.b.c as d, e",
    "from a import (b as c, d,)",
    "from . import a",
    "from ...a.b import *",
    "pass",
    "break",
    "continue",
    "if a: b\nelif c: d\nelse: e",
    "if a:\n    if b: c\nelse:\n    if d: e",
    "while a:\n    b\nelse:\n    c",
    "for a, *b in c, d: e\nelse: f",
    "for a in *b, c: pass",
    "async def f():\n    async for a in b: c\n    async with d as e, f: g",
    "with a: b",
    "with a as b, c as (d, e): f",
    "with (a as b, c): d",
    "with (a, b): c",
    "with (a, b) as c: d",
    "with (a): b",
    "with (yield a): b",
    "with (\n    a as b,\n    c as d,\n): e",
    "@a\n@b.c(d)\n@(e)\ndef f(a, /, b: int, c: int = 1, *d: x, e, g: y = 2, **h: z) -> i:\n    'doc'\n    return j; k",
    "def f(*, a): ...",
    "class A: x = 1; y = 2",
    "class A(): pass",
    "@a\nclass A(b, *c, metaclass=d, **e):\n    f: int = 1\n\n    def g(self): pass",
    "try:\n    a\nexcept:\n    b",
    "try:\n    a\nexcept b:\n    c\nexcept (d, e) as f:\n    g\nelse:\n    h\nfinally:\n    i",
    "try: a\nfinally: b",
    "match a, *b:\n    case [c, *d] if e:\n        f\n    case {'k': g, **h} | A(i) | 1 | -2 | x.y: z\n    case _: 0",
    "ﬁ = ª.µ(ℌ=1)",
    "x = (  # comment\n    a  # comment\n    .b\n)",
]
if sys.version_info >= (3, 11):
    STATEMENTS += [
        "x[*a]",
        "x[*a, b]",
        "def f(*args: *Ts): pass",
        "try:\n    a\nexcept* b as c:\n    d\nelse: e\nfinally: f",
    ]
if sys.version_info >= (3, 12):
    STATEMENTS += [
        "def f[T: int, *Ts, **P](a: T) -> T: pass",
        "class A[T, U: (int, str)](B[T]): pass",
        "type A[T] = list[T]",
        "type A = int",
        "x = f'{f'{a}'}{b!r}'",
        "x = f'{\n    a  # comment\n}'",
    ]
if sys.version_info >= (3, 13):
    STATEMENTS += ["def f[T = int, *Ts = *tuple[int], **P = [int]](): pass"]
if sys.version_info >= (3, 14):
    STATEMENTS += ["x = t'{a}{b!r:>{w}}c'", "x = t'a' t'{b}'", "try: a\nexcept b, c: d"]


def paired(text: str) -> tuple[Pairs, ast.Module]:
    tree = parse(text)
    return whole_file(source_of(text), tree), tree


def statement(text: str, header_only: bool = False) -> Pairs:
    return pair(ast.parse(text).body[0], cst.parse_module(text).body[0], header_only)


def named(pairs: Pairs, code: str) -> cst.CSTNode:
    """The first expression of the statement that reads ``code``."""
    module = cst.Module(body=())
    stack: list[cst.CSTNode] = [pairs.root]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.BaseExpression) and module.code_for_node(node) == code:
            return node
        stack.extend(reversed(node.children))
    raise AssertionError(f"no node reads {code}")


@pytest.mark.parametrize("text", STATEMENTS)
def test_every_expression_has_the_twin_that_says_the_same(text: str) -> None:
    pairs, tree = paired(text + "\n")
    assert unpaired(pairs, tree) == []
    assert wrong_twins(pairs, tree) == []


@pytest.mark.parametrize("text", STATEMENTS)
def test_both_directions_agree(text: str) -> None:
    pairs, _ = paired(text + "\n")
    for node, twin in pairs:
        assert pairs.ast_of(node) is twin
        assert pairs.cst_of(twin) is node
        assert node in pairs


@pytest.mark.parametrize("text", STATEMENTS)
def test_pairs_come_in_the_order_of_the_source(text: str) -> None:
    pairs, _ = paired(text + "\n")
    places = [
        (twin.lineno, twin.col_offset)
        for _, twin in pairs
        if isinstance(twin, ast.Name | ast.Attribute | ast.stmt) and not getattr(twin, "decorator_list", ())
    ]
    inside_fstrings_positions_are_right = sys.version_info >= (3, 12)
    if "f'" not in text or inside_fstrings_positions_are_right:
        assert places == sorted(places)


@pytest.mark.parametrize("text", STATEMENTS)
def test_every_node_but_statements_has_a_parent_in_its_statement(text: str) -> None:
    pairs, _ = paired(text + "\n")
    for node, twin in pairs:
        if isinstance(twin, ast.stmt | ast.Module):
            assert pairs.parent(node) is None
        else:
            assert pairs.ast_of(pairs.statement(node)) is not None


class TestTwins:
    def test_inner_node_of_a_flattened_chain_has_none(self) -> None:
        pairs = statement("a and b and c\n")
        assert isinstance(pairs.ast_of(named(pairs, "a and b and c")), ast.BoolOp)
        inner = named(pairs, "a and b")
        assert isinstance(inner, cst.BooleanOperation)
        assert pairs.ast_of(inner) is None
        assert inner in pairs

    def test_parenthesised_chain_has_one(self) -> None:
        pairs = statement("(a and b) and c\n")
        assert isinstance(pairs.ast_of(named(pairs, "(a and b)")), ast.BoolOp)

    def test_plain_argument_stands_for_its_value(self) -> None:
        pairs = statement("f(a, b)\n")
        call = pairs.root.value
        twin = pairs.ast_of(call.args[0])
        assert isinstance(twin, ast.Name)
        assert twin.id == "a"
        assert pairs.cst_of(twin) is call.args[0].value

    def test_keyword_and_star_arguments_have_their_own(self) -> None:
        pairs = statement("f(*a, k=b, **c)\n")
        star, keyword, double = pairs.root.value.args
        assert isinstance(pairs.ast_of(star), ast.Starred)
        assert pairs.ast_of(keyword).arg == "k"
        assert pairs.ast_of(double).arg is None
        assert pairs.ast_of(double.value).id == "c"

    @pytest.mark.parametrize(
        ("text", "wrapper", "twin"),
        [
            ("[a, b]\n", lambda s: s.value.elements[1], "b"),
            ("{a: b}\n", lambda s: s.value.elements[0], "b"),
            ("x[a]\n", lambda s: s.value.slice[0], "a"),
            ("x[a]\n", lambda s: s.value.slice[0].slice, "a"),
            ("x[a, b]\n", lambda s: s.value.slice[1].slice, "b"),
            ("a < b\n", lambda s: s.value.comparisons[0], "b"),
            ("a = b\n", lambda s: s.targets[0], "a"),
            ("a: b\n", lambda s: s.annotation, "b"),
            ("raise a from b\n", lambda s: s.cause, "b"),
            ("[a for b in c if d]\n", lambda s: s.value.for_in.ifs[0], "d"),
            ("with a as b: pass\n", lambda s: s.items[0].asname, "b"),
            ("@a\ndef f(): pass\n", lambda s: s.decorators[0], "a"),
            ("yield from a\n", lambda s: s.value.value, "a"),
        ],
    )
    def test_wrappers_stand_for_what_they_wrap(self, text, wrapper, twin) -> None:
        pairs = statement(text)
        assert pairs.ast_of(wrapper(pairs.root)).id == twin
        assert wrapper(pairs.root) in pairs

    def test_tuple_of_a_subscript_has_no_node(self) -> None:
        pairs = statement("x[a, b]\n")
        assert pairs.cst_of(pairs.twin.value.slice) is None
        assert pairs.ast_of(pairs.root.value.slice[0]).id == "a"

    def test_name_after_a_dot_has_none_but_belongs(self) -> None:
        pairs = statement("a.b\n")
        assert pairs.ast_of(pairs.root.value.attr) is None
        assert pairs.root.value.attr in pairs

    def test_parts_of_joined_strings(self) -> None:
        pairs = statement("x = 'a' f'{b}'\n")
        string = pairs.root.value
        assert isinstance(pairs.ast_of(string), ast.JoinedStr)
        assert pairs.ast_of(string.left) is None
        assert pairs.ast_of(string.right) is None
        assert pairs.ast_of(string.right.parts[0].expression).id == "b"

    def test_default_follows_its_parameter(self) -> None:
        pairs = statement("def f(a, b=1, *, c=2, d): pass\n", header_only=True)
        assert [twin.value for _, twin in pairs if isinstance(twin, ast.Constant)] == [1, 2]
        params = pairs.root.params
        assert pairs.ast_of(params.params[1].default).value == 1
        assert pairs.ast_of(params.kwonly_params[0]).arg == "c"

    def test_nodes_built_by_others_do_not_belong(self) -> None:
        pairs = statement("f(a)\n")
        built = pairs.root.value.with_changes(args=())
        assert built not in pairs
        assert built.func in pairs
        assert pairs.ast_of(built) is None
        assert pairs.parent(built) is None
        with pytest.raises(TypeError, match="is in no statement"):
            pairs.statement(built)


class TestParents:
    @pytest.mark.parametrize(
        ("text", "child", "parent"),
        [
            ("f(a)\n", "a", cst.Call),
            ("f(k=a)\n", "a", cst.Call),
            ("f(*a)\n", "a", cst.Call),
            ("[a, b]\n", "b", cst.List),
            ("(a, b)\n", "b", cst.Tuple),
            ("{a: b}\n", "a", cst.Dict),
            ("{a: b}\n", "b", cst.Dict),
            ("[*a]\n", "a", cst.StarredElement),
            ("x[a]\n", "a", cst.Subscript),
            ("x[a:b]\n", "a", cst.Slice),
            ("x < a\n", "a", cst.Comparison),
            ("a and b and c\n", "a", cst.BooleanOperation),
            ("[x for x in y if a]\n", "a", cst.CompFor),
            ("x = a\n", "a", cst.Assign),
            ("a = x\n", "a", cst.Assign),
            ("x: a\n", "a", cst.AnnAssign),
            ("x = f'{a}'\n", "a", cst.FormattedStringExpression),
            ("with a: pass\n", "a", cst.WithItem),
            ("@a\ndef f(): pass\n", "a", cst.FunctionDef),
            ("def f(x=a): pass\n", "a", cst.Param),
            ("raise x from a\n", "a", cst.Raise),
            ("x.a\n", "a", cst.Attribute),
            ("if a: pass\n", "a", cst.If),
        ],
    )
    def test_nearest_node_that_is_no_wrapper(self, text, child, parent) -> None:
        pairs = statement(text, header_only=True)
        assert type(pairs.parent(named(pairs, child))) is parent

    def test_wrapper_has_the_same_parent(self) -> None:
        pairs = statement("f(a)\n")
        assert pairs.parent(pairs.root.value.args[0]) is pairs.root.value

    def test_a_statement_in_a_body_has_none(self) -> None:
        pairs, tree = paired("if a:\n    b\n")
        inner = pairs.cst_of(tree.body[0].body[0])
        assert pairs.parent(inner) is None
        assert pairs.statement(inner.value) is inner


class TestHeaders:
    @pytest.mark.parametrize(
        "text",
        ["if a: b\n", "while a: b\n", "for a in c: b\n", "with a: b\n", "def f(a): b\n", "class A(a): b\n"],
    )
    def test_bodies_are_left_out(self, text: str) -> None:
        pairs = statement(text, header_only=True)
        assert "b" not in [getattr(twin, "id", None) for _, twin in pairs]
        assert "b" in [getattr(twin, "id", None) for _, twin in statement(text)]

    def test_a_dummy_body_does_not_matter(self) -> None:
        tree = ast.parse("if a:\n    b\n    c\n")
        pairs = pair(tree.body[0], cst.parse_module("if a: pass\n").body[0], header_only=True)
        assert [getattr(twin, "id", None) for _, twin in pairs] == [None, "a"]


class TestMismatch:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("a", "b"),
            ("a.b", "a.c"),
            ("f(a)", "f(a, b)"),
            ("f(a)", "f(k=a)"),
            ("f(k=a)", "f(m=a)"),
            ("f(*a)", "f(a)"),
            ("a + b", "a - b"),
            ("a += b", "a -= b"),
            ("a < b", "a > b"),
            ("a and b", "a or b"),
            ("a and b and c", "(a and b) and c"),
            ("not a", "-a"),
            ("x[a]", "x[a:]"),
            ("x[a:]", "x[:a]"),
            ("[a]", "(a,)"),
            ("[a]", "[a, b]"),
            ("{a: b}", "{a, b}"),
            ("{**a}", "{b: a}"),
            ("True", "False"),
            ("True", "None"),
            ("'a'", "f'{a}'"),
            ("'a' 'b'", "f'{a}' 'b'"),
            ("f'{a}'", "f'{a:b}'"),
            ("f'{a}'", "f'{a}{b}'"),
            ("yield a", "yield from a"),
            ("yield", "yield a"),
            ("[a for a in b]", "[a for a in b if c]"),
            ("[a for a in b]", "[a for a in b for c in d]"),
            ("[a for a in b]", "[a async for a in b]"),
            ("lambda a: b", "lambda a=1: b"),
            ("lambda a: b", "lambda *a: b"),
            ("lambda a: b", "lambda *, a: b"),
            ("lambda a: b", "lambda c: b"),
            ("a = b", "a = b = c"),
            ("a: b", "a: b = c"),
            ("del a, b", "del (a, b)"),
            ("raise a", "raise a from b"),
            ("assert a", "assert a, b"),
            ("global a", "global b"),
            ("import a", "import a, b"),
            ("from . import a", "from .. import a"),
            ("if a: b", "while a: b"),
            ("if a: b", "if a: b; c"),
            ("if a: b", "if a: b\nelse: c"),
            ("for a in b: c", "async for a in b: c"),
            ("with a: b", "with a as c: b"),
            ("with a: b", "async with a: b"),
            ("def f(): a", "def g(): a"),
            ("def f(): a", "async def f(): a"),
            ("def f(): a", "@d\ndef f(): a"),
            ("def f(): a", "def f() -> b: a"),
            ("class A: a", "class B: a"),
            ("try: a\nfinally: b", "try: a\nexcept: b"),
            ("a; b", "a"),
        ],
    )
    def test_is_an_error(self, one: str, other: str) -> None:
        tree = parse(other + "\n").body[0]
        node = cst.parse_module(one + "\n").body[0]
        with pytest.raises(PairingError):
            pair(tree, node, header_only=False)
        if ";" not in one and ";" not in other:
            with pytest.raises(PairingError):
                pair(parse(one + "\n").body[0], cst.parse_module(other + "\n").body[0], header_only=False)


def test_deep_trees_do_not_exhaust_the_stack() -> None:
    text = "x = " + " + ".join(["a"] * 600) + "\n"
    pairs = statement(text)
    assert len(pairs) == 2 + 599 + 600
    assert pairs.parent(pairs.cst_of(pairs.twin.value)) is pairs.root


def same_leaf(node: cst.CSTNode, twin: ast.AST) -> bool:
    if isinstance(node, cst.Integer | cst.Float | cst.Imaginary):
        return repr(ast.literal_eval(node.value)) == repr(twin.value)
    if isinstance(node, cst.SimpleString):
        return node.evaluated_value == twin.value
    return True


@pytest.mark.third
@pytest.mark.once
@pytest.mark.parametrize("part", range(3))
def test_standard_library_pairs(part: int) -> None:
    files = statements = 0
    unknown: list[str] = []
    for path in stdlib_files(300)[part::3]:
        read = read_source(path)
        if read is None:
            continue
        try:
            pairs = whole_file(*read)
        except cst.ParserSyntaxError:
            unknown.append(path.name)
            continue
        assert unpaired(pairs, read[1]) == [], path
        assert all(same_leaf(node, twin) for node, twin in pairs), path
        files += 1
        statements += sum(isinstance(twin, ast.stmt) for _, twin in pairs)
    assert files > 80
    assert statements > 6_000
    assert len(unknown) <= 3, f"LibCST does not understand {unknown}"


def test_twins_in_the_standard_library_say_the_same() -> None:
    checked = 0
    for path in stdlib_files(12):
        read = read_source(path)
        if read is not None:
            pairs = whole_file(*read)
            assert wrong_twins(pairs, read[1]) == [], path
            checked += len(pairs)
    assert checked > 5_000
