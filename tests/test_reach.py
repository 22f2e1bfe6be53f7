"""Which bindings of a name may reach a use: programs that show a name, and the rows of what it may be."""

from __future__ import annotations

import ast

import pytest
from projects import Code

from torchlint.facts.code.jumps import leaves

pytestmark = pytest.mark.versions

# Each program shows a name; "# <-" marks the bindings of it that may reach the use, and no others may.
PROGRAMS = {
    "the last assignment of the round before": """
        x = 1  # <-
        for i in range(3):
            show(x)
            x = 2
            x = 3  # <-
    """,
    "a round that ends with continue": """
        x = 1  # <-
        for i in range(3):
            show(x)
            x = 2
            if i:
                x = 3  # <-
                continue
            x = 4  # <-
    """,
    "a round that ends with break is seen behind the loop alone": """
        x = 1  # <-
        while c:
            x = 2
            if d:
                x = 3  # <-
                break
            x = 4  # <-
        show(x)
    """,
    "a break ends no round": """
        x = 1  # <-
        while c:
            show(x)
            x = 2
            if d:
                x = 3
                break
            x = 4  # <-
    """,
    "else of a loop, which a break leaves out": """
        x = 1  # <-
        for i in range(3):
            x = 2
            if i:
                break
            x = 3  # <-
        else:
            show(x)
    """,
    "an inner loop that continues": """
        x = 1  # <-
        for i in range(3):
            show(x)
            x = 2
            for j in range(2):
                if j:
                    continue
                x = 3
            else:
                x = 4  # <-
    """,
    "finally runs behind continue": """
        x = 1  # <-
        for i in range(3):
            show(x)
            try:
                x = 2  # <-
                continue
            finally:
                x = 3  # <-
    """,
    "the test of a loop sees the end of a round": """
        x = 1  # <-
        while show(x):
            x = 2
            x = 3  # <-
    """,
    "the last assignment wins": """
        x = 1
        x = 2  # <-
        show(x)
    """,
    "its own statement does not count": """
        x = 1  # <-
        x = show(x)
    """,
    "both branches": """
        if c:
            x = 1  # <-
        else:
            x = 2  # <-
        show(x)
    """,
    "one branch, and what was before": """
        x = 1  # <-
        if c:
            x = 2  # <-
        show(x)
    """,
    "a branch that returns": """
        def f(c):
            x = 1  # <-
            if c:
                x = 2
                return x
            show(x)
    """,
    "inside the branch": """
        x = 1
        if c:
            x = 2  # <-
            show(x)
    """,
    "elif": """
        if a:
            x = 1  # <-
        elif b:
            x = 2  # <-
        else:
            raise ValueError
        show(x)
    """,
    "the end of the loop's body comes round": """
        x = 1  # <-
        for i in y:
            show(x)
            x = 2  # <-
    """,
    "what a continue leaves comes round": """
        x = 1  # <-
        for i in y:
            if i:
                x = 2  # <-
                continue
            show(x)
    """,
    "a loop may not run": """
        x = 1  # <-
        for i in y:
            x = 2  # <-
        show(x)
    """,
    "an endless loop binds": """
        x = 1
        while True:
            x = 2  # <-
            if c:
                break
        show(x)
    """,
    "an endless loop left before it binds": """
        x = 1  # <-
        while True:
            if c:
                break
            x = 2  # <-
        show(x)
    """,
    "an endless loop left by a break of its own, not of an inner loop": """
        x = 1
        while True:
            for i in y:
                break
            x = 2  # <-
            break
        show(x)
    """,
    "a break takes its value along": """
        while True:
            if c:
                x = 1  # <-
                break
            x = 2  # <-
        show(x)
    """,
    "the loop's else": """
        x = 1  # <-
        for i in y:
            x = 2  # <-
        else:
            show(x)
    """,
    "the loop's target": """
        x = 1
        for x in y:  # <-
            show(x)
    """,
    "the test of a while": """
        x = 1  # <-
        while show(x):
            x = 2  # <-
    """,
    "with": """
        x = 1
        with y as x:  # <-
            show(x)
    """,
    "after with": """
        x = 1
        with y:
            x = 2  # <-
        show(x)
    """,
    "except takes any part of try": """
        x = 1  # <-
        try:
            x = 2  # <-
            x = 3  # <-
        except ValueError:
            show(x)
    """,
    "after try all that the handler can see": """
        x = 1  # <-
        try:
            x = 2  # <-
            x = 3  # <-
        except ValueError:
            pass
        show(x)
    """,
    "a handler that leaves": """
        def f():
            x = 1
            try:
                x = 2  # <-
            except ValueError:
                return
            show(x)
    """,
    "the handler's name": """
        x = 1
        try:
            y()
        except ValueError as x:  # <-
            show(x)
    """,
    "try's else comes after its body": """
        x = 1
        try:
            x = 2  # <-
        except ValueError:
            x = 3
        else:
            show(x)
    """,
    "finally sees everything": """
        x = 1  # <-
        try:
            x = 2  # <-
        except ValueError:
            x = 3  # <-
        else:
            x = 4  # <-
        finally:
            show(x)
    """,
    "what finally binds": """
        try:
            x = 2
        finally:
            x = 3  # <-
        show(x)
    """,
    "a captured name": """
        x = 1
        match y:
            case [x]:  # <-
                show(x)
    """,
    "a captured rest": """
        x = 1
        match y:
            case {"a": 1, **x}:  # <-
                show(x)
    """,
    "after match": """
        x = 1  # <-
        match y:
            case 1:
                x = 2  # <-
            case 2:
                x = 3  # <-
        show(x)
    """,
    "a walrus in the test of an if": """
        x = 1
        if x := y():  # <-
            show(x)
    """,
    "a walrus that may not run": """
        x = 1  # <-
        if y and (x := y()):  # <-
            pass
        show(x)
    """,
    "a walrus in the test of a while": """
        while x := y():  # <-
            show(x)
    """,
    "a walrus in the same expression": """
        y((x := 1), show(x))  # <-
    """,
    "a walrus in a comprehension": """
        x = 1  # <-
        y = [show(x) for i in z if (x := i)]  # <-
    """,
    "a walrus and then": """
        y((x := 1))  # <-
        show(x)
    """,
    "parameters": """
        def f(
            x,  # <-
        ):
            show(x)
    """,
    "a parameter rebound": """
        def f(x):
            x = 2  # <-
            show(x)
    """,
    "a parameter rebound in a branch": """
        def f(
            x,  # <-
        ):
            if x:
                x = 2  # <-
            show(x)
    """,
    "all bindings of an outer function": """
        def f():
            x = 1  # <-
            def g():
                show(x)
            x = 2  # <-
    """,
    "a class body is not seen from its methods": """
        x = 1  # <-
        class A:
            x = 2
            def f(self):
                show(x)
    """,
    "a class body sees itself": """
        x = 1
        class A:
            x = 2  # <-
            show(x)
    """,
    "global": """
        x = 1  # <-
        def f():
            global x
            x = 2  # <-
        f()
        show(x)
    """,
    "nonlocal": """
        def f():
            x = 1  # <-
            def g():
                nonlocal x
                x = 2  # <-
            g()
            show(x)
    """,
    "nonlocal, seen from inside": """
        def f():
            def g():
                nonlocal x
                show(x)
                x = 2  # <-
            x = 1  # <-
    """,
    "a local name is never the outer one": """
        x = 1
        def f():
            show(x)
            x = 2  # <-
    """,
    "a comprehension's own target": """
        x = 1
        y = [show(x) for x in z]  # <-
    """,
    "a comprehension's first iterable is outside": """
        x = 1  # <-
        y = [x for x in show(x)]
    """,
    "a lambda's parameter": """
        x = 1
        y = lambda x: show(x)  # <-
    """,
    "deletion binds nothing known": """
        x = 1
        del x  # <-
        show(x)
    """,
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_reaching(text: str) -> None:
    code = Code(text)
    expected = [row for row, line in enumerate(code.texts["code.py"].splitlines(), 1) if line.endswith("# <-")]
    assert rows(code) == expected


def rows(code: Code) -> list[int]:
    """The rows of the bindings that reach the name that is shown."""
    found = set()
    for binding in code.project.reaching(code.file(), code.shown()).bindings:
        parameters = getattr(binding.stmt, "args", None)
        named = [arg for arg in parameters.args if arg.arg == binding.target] if binding.target and parameters else []
        node = named[0] if named else binding.stmt
        found.add(getattr(node, "lineno", None) or node.pattern.lineno)
    return sorted(found)


@pytest.mark.skipif("sys.version_info < (3, 11)")
def test_except_star_binds_like_except() -> None:
    code = Code("""
        x = 1  # <-
        try:
            x = 2  # <-
        except* ValueError:
            pass
        show(x)
    """)
    assert rows(code) == [1, 3]


LEAVES = {
    "return 1": True,
    "raise ValueError": True,
    "x = 1": False,
    "if a:\n    return 1\nelse:\n    raise ValueError": True,
    "if a:\n    return 1": False,
    "with a:\n    return 1": True,
    "for i in a:\n    return 1": False,
    "return 1\nx = 1": False,
}


@pytest.mark.parametrize(("text", "expected"), LEAVES.items())
def test_blocks_that_control_never_leaves_at_the_end(text: str, expected: bool) -> None:
    assert leaves(ast.parse(text).body) is expected


def test_no_block_at_all() -> None:
    assert not leaves([])
