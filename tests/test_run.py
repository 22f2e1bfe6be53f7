"""Whole runs of the engine over folders: what is reported, what is a problem, and what is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from linting import fixed_text, lint

from torchlint import cst
from torchlint.engine import linting, writing
from torchlint.engine import run as engine
from torchlint.engine.explaining import explain_hot
from torchlint.engine.needed import reasons
from torchlint.engine.result import NoCodeError, Result
from torchlint.engine.rules import ListedRule
from torchlint.engine.run import EngineRun, check
from torchlint.rule import Call, Fix, Frequency, Report, Rule, Site
from torchlint.rule.frequency import Why
from torchlint.settings.model import Settings
from torchlint.sources.decode import decode

HOT = """import torch


class Agent:
    def act(self, obs):
        return torch.FloatTensor(obs)
"""
LOOP = """from agent import Agent

agent = Agent()
while True:
    obs, reward, done, info = env.step(agent.act(obs))
"""
BOTH = {"agent.py": HOT, "train.py": LOOP}


def places(result: Result) -> list[tuple[str, str, int]]:
    return [(finding.code, finding.path, finding.start.row) for finding in result.findings]


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def run(folder: Path, *paths: str, **settings: object) -> Result:
    return check([folder / path for path in paths] or [folder], Settings(root=folder, isolated=True, **settings))


def test_hotness_crosses_files(tmp_path: Path) -> None:
    assert places(lint(tmp_path, BOTH)) == [("TL101", "agent.py", 6)]
    assert lint(tmp_path / "alone", {"agent.py": HOT}).findings == []


def test_context_is_read_but_not_reported(tmp_path: Path) -> None:
    write(tmp_path, BOTH)
    assert places(run(tmp_path, "agent.py")) == [("TL101", "agent.py", 6)]
    result = run(tmp_path, "train.py")
    assert result.findings == []
    assert result.files == 1
    assert set(result.sources) == {"train.py"}


def test_a_syntax_error_is_a_finding_and_the_rest_is_linted(tmp_path: Path) -> None:
    result = lint(tmp_path, {**BOTH, "broken.py": "import torch\nx = (\n"})
    assert [(code, path) for code, path, _ in places(result)] == [("TL101", "agent.py"), ("TL000", "broken.py")]
    assert result.findings[1].level.value == "error"


def test_a_null_byte_is_a_syntax_error(tmp_path: Path) -> None:
    assert [code for code, _, _ in places(lint(tmp_path, {"a.py": "import torch\nx = '\0'\n"}))] == ["TL000"]


def test_an_undecodable_file_is_a_finding_and_the_rest_is_linted(tmp_path: Path) -> None:
    write(tmp_path, BOTH)
    (tmp_path / "latin.py").write_bytes(b"import torch\nx = '\xe9'\n")
    result = run(tmp_path)
    assert places(result) == [("TL101", "agent.py", 6), ("TL000", "latin.py", 2)]
    assert result.problems == []


@pytest.mark.skipif("os.geteuid() == 0", reason="root reads everything")
def test_an_unreadable_file_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, BOTH)
    (tmp_path / "train.py").chmod(0)
    assert [problem.path for problem in run(tmp_path).problems] == ["train.py"]


def test_a_file_that_vanishes_is_a_problem_and_the_rest_is_linted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {**BOTH, "gone.py": "import torch\n"})
    read_bytes = Path.read_bytes

    def vanishing(path: Path) -> bytes:
        if path.name == "gone.py":
            path.unlink()
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", vanishing)
    result = run(tmp_path)
    assert places(result) == [("TL101", "agent.py", 6)]
    assert [(problem.path, problem.internal) for problem in result.problems] == [("gone.py", False)]
    assert "cannot be read" in result.problems[0].message


def test_a_path_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path, BOTH)
    result = run(tmp_path, "agent.py", "absent.py")
    assert places(result) == [("TL101", "agent.py", 6)]
    assert len(result.problems) == 1


def test_standard_input_takes_the_place_of_its_file(tmp_path: Path) -> None:
    write(tmp_path, {**BOTH, "agent.py": "import torch\n"})
    stdin = decode(HOT.encode(), tmp_path / "agent.py", "agent.py")
    result = check([], Settings(root=tmp_path, isolated=True, fix=True, unsafe_fixes=True), stdin)
    assert "FloatTensor" not in result.fixed["agent.py"].after.text
    assert (tmp_path / "agent.py").read_text() == "import torch\n"
    assert places(check([], Settings(root=tmp_path, isolated=True), stdin)) == [("TL101", "agent.py", 6)]


def test_ignores_per_file(tmp_path: Path) -> None:
    write(tmp_path, BOTH)
    assert places(run(tmp_path, per_file_ignores=(("agent.py", ("TL1",)),))) == []
    assert places(run(tmp_path, per_file_ignores=(("train.py", ("TL1",)),))) == [("TL101", "agent.py", 6)]
    assert places(run(tmp_path, per_file_ignores=(("*.py", ("TL2",)),))) == [("TL101", "agent.py", 6)]


@pytest.mark.parametrize("mark", ["# noqa", "# noqa: TL101", "# torchlint: ignore[TL101] small"])
def test_suppressed_findings(tmp_path: Path, mark: str) -> None:
    assert places(lint(tmp_path, {**BOTH, "agent.py": HOT.replace("(obs)\n", f"(obs)  {mark}\n")})) == []


def test_another_code_suppresses_nothing(tmp_path: Path) -> None:
    texts = {**BOTH, "agent.py": HOT.replace("(obs)\n", "(obs)  # noqa: TL201\n")}
    assert places(lint(tmp_path, texts)) == [("TL101", "agent.py", 6)]


def test_fixes_are_written_and_the_mode_is_kept(tmp_path: Path) -> None:
    write(tmp_path, BOTH)
    (tmp_path / "agent.py").chmod(0o755)
    result = run(tmp_path, fix=True, unsafe_fixes=True)
    text = (tmp_path / "agent.py").read_text()
    assert text == result.fixed["agent.py"].after.text != HOT
    assert stat.S_IMODE((tmp_path / "agent.py").stat().st_mode) == 0o755
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent.py", "train.py"]
    assert run(tmp_path).findings == []


def test_a_diff_writes_nothing(tmp_path: Path) -> None:
    write(tmp_path, BOTH)
    result = run(tmp_path, fix=True, diff=True, unsafe_fixes=True)
    assert (tmp_path / "agent.py").read_text() == HOT != result.fixed["agent.py"].after.text


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, BOTH)
    stage = writing.Staged.of

    def too_late(before: object, after: object) -> object:
        (tmp_path / "agent.py").write_text("# edited\n" + HOT)
        return stage(before, after)

    monkeypatch.setattr(writing.Staged, "of", too_late)
    result = run(tmp_path, fix=True, unsafe_fixes=True)
    assert (tmp_path / "agent.py").read_text() == "# edited\n" + HOT
    assert result.fixed == {}
    assert [problem.path for problem in result.problems] == ["agent.py"]
    assert places(result) == [("TL101", "agent.py", 6)]


def test_only_files_asked_for_are_fixed(tmp_path: Path) -> None:
    write(tmp_path, BOTH)
    run(tmp_path, "train.py", fix=True, unsafe_fixes=True)
    assert (tmp_path / "agent.py").read_text() == HOT


def test_a_file_without_findings_is_not_touched(tmp_path: Path) -> None:
    assert fixed_text(tmp_path, "a.py", "import torch\n") == "import torch\n"


def test_fingerprints_do_not_move_with_the_lines(tmp_path: Path) -> None:
    twice = HOT + "\n    def act_again(self, obs):\n        return torch.FloatTensor(obs)\n"
    loop = LOOP + "    agent.act_again(obs)\n"
    before = lint(tmp_path / "1", {"agent.py": twice, "train.py": loop}).findings
    after = lint(tmp_path / "2", {"agent.py": "# a comment\n\n" + twice, "train.py": loop}).findings
    assert [finding.start.row + 2 for finding in before] == [finding.start.row for finding in after]
    assert [finding.fingerprint for finding in before] == [finding.fingerprint for finding in after]
    assert len({finding.fingerprint for finding in before}) == len(before) == 2


def test_how_hot_a_line_is(tmp_path: Path) -> None:
    write(tmp_path, BOTH)
    settings = Settings(root=tmp_path, isolated=True)
    why = explain_hot(tmp_path / "agent.py", 6, settings)
    [way] = why.ways
    assert way.hot.describe() == "once per environment step (train.py:4 loop → Agent.act)"
    assert (why.frequency, why.more) == (Frequency.STEP, 0)
    assert explain_hot(tmp_path / "agent.py", 1, settings).frequency is Frequency.ONCE


def test_the_header_of_a_compound_statement_is_its_own_line(tmp_path: Path) -> None:
    write(tmp_path, BOTH)
    settings = Settings(root=tmp_path, isolated=True)
    assert explain_hot(tmp_path / "train.py", 4, settings).frequency is Frequency.ONCE
    assert explain_hot(tmp_path / "train.py", 5, settings).frequency is Frequency.STEP


NO_CODE = {
    "a blank line": (HOT, 2, "there is no statement on line 2 of agent.py"),
    "after the end": (HOT, 99, "agent.py ends on line 7, before line 99"),
    "a syntax error": ("import torch\ndef f(:\n", 1, "agent.py:2: invalid syntax"),
}


@pytest.mark.parametrize(("text", "row", "message"), NO_CODE.values(), ids=NO_CODE)
def test_lines_without_code_are_not_explained(tmp_path: Path, text: str, row: int, message: str) -> None:
    write(tmp_path, {"agent.py": text})
    with pytest.raises(NoCodeError, match=f"^{message}$"):
        explain_hot(tmp_path / "agent.py", row, Settings(root=tmp_path, isolated=True))


def test_bytes_that_are_no_text_are_not_explained(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_bytes(b"import torch\nx = '\xff'\n")
    with pytest.raises(NoCodeError, match=r"^agent.py:2: .*not UTF-8"):
        explain_hot(tmp_path / "agent.py", 1, Settings(root=tmp_path, isolated=True))


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.py", "x = 1\n", "a.py neither uses torch nor imports a file of the project that does"),
        ("tests/a.py", "import torch\n", "tests/a.py belongs to a test suite, and nothing in tests is hot"),
    ],
)
def test_files_that_are_not_analysed_say_why(tmp_path: Path, name: str, text: str, reason: str) -> None:
    write(tmp_path, {name: text})
    assert explain_hot(tmp_path / name, 1, Settings(root=tmp_path, isolated=True)) == Why(reasons=(reason,))


def test_many_ways_are_cut_short(tmp_path: Path) -> None:
    loops = "".join(f"while True:\n    env.step(act({n}))\n" for n in range(5))
    write(tmp_path, {"a.py": f"import torch\ndef act(x):\n    return f(x)\n{loops}"})
    why = explain_hot(tmp_path / "a.py", 3, Settings(root=tmp_path, isolated=True), most=3)
    assert (len(why.ways), why.more) == (3, 2)


class Calls(Rule):
    """Reports all calls of ``torch.zeros``, with the arguments as the message."""

    code = "TL801"
    name = "calls"
    summary = "Calls."
    least = Frequency.ONCE
    trigger = Call("torch.zeros")

    def check(self, site: Site) -> Iterator[Report]:
        if isinstance(site.node, cst.Call):
            yield Report(site.node, "a call", shared=" ({count} in all)")


class Weaker(Calls):
    """The same, but gives way."""

    code = "TL802"
    name = "weaker"
    yields_to = ("TL801",)


class Weakest(Calls):
    """Gives way to what gives way."""

    code = "TL806"
    name = "weakest"
    yields_to = ("TL802",)


class Wide(Calls):
    """Gives way to calls and reports the whole argument of ``len``; what is in it gives way to it."""

    code = "TL807"
    name = "wide"
    trigger = Call("builtins.len")
    yields_to = ("TL801",)


class Inner(Calls):
    """Gives way to wide findings and reports the calls of ``torch.ones``."""

    code = "TL808"
    name = "inner"
    trigger = Call("torch.ones")
    yields_to = ("TL807",)


class Failing(Calls):
    """Fails at every call."""

    code = "TL803"
    name = "failing"

    def check(self, site: Site) -> Iterator[Report]:
        yield Report(site.node, "before it fails")
        raise KeyError("oops")


class Built(Calls):
    """Asks about a node that it built."""

    code = "TL804"
    name = "built"

    def check(self, site: Site) -> Iterator[Report]:
        site.values.of(cst.Name("x"))
        yield Report(site.node, "never")


class Changing(Calls):
    """Replaces the call by one of ``torch.ones``."""

    code = "TL805"
    name = "changing"

    def check(self, site: Site) -> Iterator[Report]:
        yield Report(site.node, "a call", fix=Fix("Use ones", ((site.node, "torch.ones(1)"),)))


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs use the rules of this file."""
    ours = (Calls, Weaker, Failing, Built, Changing, Weakest, Wide, Inner)
    monkeypatch.setattr(engine, "listed_rules", lambda _: tuple(map(ListedRule.of, ours)))


TWO = "import torch\nx = torch.zeros(1)\ny = torch.zeros(2)\n"


@pytest.mark.usefixtures("rules")
def test_a_rule_that_fails_is_an_internal_problem_and_the_rest_is_linted(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": TWO, "b.py": TWO})
    result = run(tmp_path, select=("TL801", "TL803"))
    assert places(result) == [("TL801", "a.py", 2), ("TL801", "a.py", 3), ("TL801", "b.py", 2), ("TL801", "b.py", 3)]
    assert [(problem.path, problem.internal) for problem in result.problems] == [
        ("a.py", True),
        ("a.py", True),
        ("b.py", True),
        ("b.py", True),
    ]
    assert result.problems[0].message == "rule TL803 failed at a.py:2: KeyError: 'oops'"


@pytest.mark.usefixtures("rules")
def test_a_node_that_a_rule_built_has_no_facts(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": TWO})
    result = run(tmp_path, select=("TL804",))
    assert result.findings == []
    assert "TypeError: Name was built by the rule and has no facts" in result.problems[0].message


@pytest.mark.usefixtures("rules")
def test_a_finding_yields_to_another_rule_at_the_same_place(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": TWO})
    assert [code for code, _, _ in places(run(tmp_path, select=("TL801", "TL802")))] == ["TL801", "TL801"]
    assert [code for code, _, _ in places(run(tmp_path, select=("TL802",)))] == ["TL802", "TL802"]


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize(
    "comment", ["# noqa: TL801", "# torchlint: ignore[TL801] it is meant", "# torchlint: ignore[calls]"]
)
def test_a_silenced_winner_lets_the_loser_show(tmp_path: Path, comment: str) -> None:
    write(tmp_path, {"a.py": f"import torch\nx = torch.zeros(1)  {comment}\ny = torch.zeros(2)\n"})
    found = places(run(tmp_path, select=("TL801", "TL802")))
    assert found == [("TL802", "a.py", 2), ("TL801", "a.py", 3)]
    assert places(run(tmp_path, select=("TL801",))) == [("TL801", "a.py", 3)]


@pytest.mark.usefixtures("rules")
def test_a_winner_that_the_settings_ignore_lets_the_loser_show(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": TWO, "b.py": TWO})
    found = places(run(tmp_path, select=("TL801", "TL802"), per_file_ignores=(("a.py", ("TL801",)),)))
    assert [(code, path) for code, path, _ in found] == [("TL802", "a.py")] * 2 + [("TL801", "b.py")] * 2
    found = places(run(tmp_path, select=("TL801", "TL802"), ignore=("TL801",)))
    assert {code for code, _, _ in found} == {"TL802"}


@pytest.mark.usefixtures("rules")
def test_what_yields_goes_on_to_yield(tmp_path: Path) -> None:
    """One finding an expression: who yields to a rule yields to those that this one yields to, there or not."""
    write(tmp_path, {"a.py": TWO})
    everything = ("TL801", "TL802", "TL806")
    assert {code for code, _, _ in places(run(tmp_path, select=everything))} == {"TL801"}
    assert {code for code, _, _ in places(run(tmp_path, select=("TL801", "TL806")))} == {"TL801"}
    assert {code for code, _, _ in places(run(tmp_path, select=("TL802", "TL806")))} == {"TL802"}
    write(tmp_path, {"a.py": TWO.replace("(1)", "(1)  # noqa: TL802")})
    assert {code for code, _, _ in places(run(tmp_path, select=("TL802", "TL806")))} == {"TL802", "TL806"}
    write(tmp_path, {"a.py": TWO.replace("(1)", "(1)  # noqa: TL801")})
    assert places(run(tmp_path, select=everything)) == [("TL802", "a.py", 2), ("TL801", "a.py", 3)]


@pytest.mark.usefixtures("rules")
def test_what_has_lost_beats_nothing(tmp_path: Path) -> None:
    """The wide finding yields to one part of it, so the other part's finding is shown."""
    write(tmp_path, {"a.py": "import torch\nx = len(torch.zeros(torch.ones(1)))\ny = len(torch.ones(2))\n"})
    found = places(run(tmp_path, select=("TL801", "TL807", "TL808")))
    assert found == [("TL801", "a.py", 2), ("TL807", "a.py", 3)]
    write(tmp_path, {"a.py": "import torch\nx = len([torch.zeros(1), torch.ones(1)])\n"})
    found = places(run(tmp_path, select=("TL801", "TL807", "TL808")))
    assert found == [("TL801", "a.py", 2), ("TL808", "a.py", 2)]


@pytest.mark.usefixtures("rules")
def test_findings_that_share_a_function_are_counted(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": TWO, "b.py": "import torch\nx = torch.zeros(1)\n"})
    messages = [finding.message for finding in run(tmp_path, select=("TL801",)).findings]
    assert messages == ["a call (2 in all)", "a call (2 in all)", "a call"]


@pytest.mark.usefixtures("rules")
def test_a_fix_that_loses_a_comment_is_not_applied(tmp_path: Path) -> None:
    text = "import torch\nx = torch.zeros(\n    1,  # one\n)\ny = torch.zeros(2)\n"
    write(tmp_path, {"a.py": text})
    result = run(tmp_path, select=("TL805",), fix=True)
    assert (tmp_path / "a.py").read_text() == text.replace("torch.zeros(2)", "torch.ones(1)")
    assert places(result) == [("TL805", "a.py", 2)]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.usefixtures("rules")
def test_line_ends_and_byte_order_marks_are_kept(tmp_path: Path, newline: str) -> None:
    before = b"\xef\xbb\xbf" + TWO.replace("\n", newline).encode()
    (tmp_path / "a.py").write_bytes(before)
    run(tmp_path, select=("TL805",), fix=True)
    expected = before.replace(b"zeros(1)", b"ones(1)").replace(b"zeros(2)", b"ones(1)")
    assert (tmp_path / "a.py").read_bytes() == expected


def test_the_order_of_paths_does_not_matter(tmp_path: Path) -> None:
    write(tmp_path, {**BOTH, "b/agent2.py": HOT, "b/train2.py": LOOP.replace("agent import", "agent2 import")})
    names = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.py")]
    assert run(tmp_path, *sorted(names)).findings == run(tmp_path, *sorted(names, reverse=True)).findings


def test_a_broken_link_does_no_harm(tmp_path: Path) -> None:
    write(tmp_path, BOTH)
    os.symlink(tmp_path / "nowhere.py", tmp_path / "link.py")
    assert places(run(tmp_path)) == [("TL101", "agent.py", 6)]


def test_what_was_linted_is_not_parsed_again_for_the_reasons_of_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.py").write_text("import torch\n\n\ndef act(env, policy, obs):\n    env.step(policy(obs).item())\n")
    (tmp_path / "b.py").write_text("import torch\nfrom a import act\n")
    parsed: list[str] = []
    parse = linting.parse
    monkeypatch.setattr(linting, "parse", lambda sources: parsed.extend(sources) or parse(sources))
    run = EngineRun.prepare([tmp_path], Settings(root=tmp_path, isolated=True, device="cuda"), {})
    run.checked()
    assert reasons(run, {"a.py": {5: False}}) == {("a.py", 5): "it goes to the environment"}
    assert sorted(parsed) == ["a.py", "b.py"]
