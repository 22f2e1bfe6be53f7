"""The command ``torchlint bench`` as a user meets it; stand-ins for rules, no time is asserted."""

import dataclasses
import json
import os
import sys

import pytest
import torch

from torchlint.bench import suite
from torchlint.bench.result import from_json
from torchlint.cli import main
from torchlint.engine import rules as engine_rules
from torchlint.rule import Example, Input, Kind, Rule

GOOD = "def work(x):\n    return x * 2\n"
BAD = "def work(x):\n    raise ValueError('the workload fails')\n"


def rule_of(code_, name_, source):
    class Made(Rule):
        code = code_
        name = name_
        summary = name_
        examples = (
            Example("one", source, source, "", "work(x)", inputs=(Input("x", Kind.TENSOR, (4,)),), by_hand=True),
            Example("two", source, source, "", "work(x)", inputs=(Input("x", Kind.TENSOR, (8,)),), by_hand=True),
        )

    return Made


class Lying(rule_of("TL999", "lying", GOOD)):
    examples = (Example("one", GOOD, GOOD.replace("2", "3"), "", "work(x)", (Input("x", Kind.TENSOR, (4,)),), True),)


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHLINT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path / "data"


@pytest.fixture
def given(monkeypatch, data):
    """Let the command line see other rules than ours."""

    def give(*rules):
        monkeypatch.setattr(engine_rules, "load_rules", lambda *_: rules)

    return give


@pytest.mark.third
def test_json_of_a_real_rule(torchlint, tmp_path):
    found = torchlint("bench", "TL103", "--quick", "--json", "--html", tmp_path / "page.html", cwd=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    results = from_json(found.stdout)
    assert [row.code for row in results.rows] == ["TL103"]
    assert results.complete and results.machine.torch == torch.__version__
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_nothing_is_kept_of_a_quick_run(given, data, capsys):
    given(rule_of("TL998", "good", GOOD))
    assert main(["bench", "--quick"]) == 0
    assert "TL998 good" in capsys.readouterr().out
    assert not data.exists()


def test_what_is_measured_is_kept(given, data, capsys, monkeypatch):
    monkeypatch.setattr(suite, "Thoroughness", lambda: suite.QUICK)
    # On a busy machine nothing is measured.
    summarise = suite.summarise
    monkeypatch.setattr(suite, "summarise", lambda rounds: dataclasses.replace(summarise(rounds), control=1.0))
    given(rule_of("TL998", "good", GOOD))
    assert main(["bench"]) == 0
    kept = from_json((data / "bench-cpu.json").read_text(encoding="utf-8"))
    assert [(row.code, row.example) for row in kept.rows] == [("TL998", "one"), ("TL998", "two")]
    assert f"Kept in {data / 'bench-cpu.json'}" in capsys.readouterr().err


def test_a_failing_workload_is_reported_and_the_others_go_on(given, capsys):
    given(rule_of("TL997", "bad", BAD), rule_of("TL998", "good", GOOD))
    broken = rule_of("TL997", "bad", BAD)
    assert broken.examples[0].by_hand
    assert main(["bench", "--quick"]) == 1
    out = capsys.readouterr().out
    assert "TL997 one failed:\nTraceback" in out
    assert "ValueError: the workload fails" in out
    assert "TL998 good" in out
    # The sentence names the processor, so where it is broken depends on the machine.
    assert "2 failed" in " ".join(out.split())


def test_a_fix_that_lies_makes_the_exit_code_1(given, capsys):
    given(Lying)
    assert main(["bench", "--quick", "--json"]) == 1
    (row,) = from_json(capsys.readouterr().out).rows
    assert (row.status.value, row.figure) == ("different", None)


def test_an_interrupt_keeps_what_was_measured(given, data, capsys, monkeypatch):
    given(rule_of("TL998", "good", GOOD))
    monkeypatch.setattr(suite, "Thoroughness", lambda: suite.QUICK)
    run, seen = suite.row_of, []

    def stop(rule, example, device, plan):
        seen.append(example.name)
        if example.name == "two":
            raise KeyboardInterrupt
        return run(rule, example, device, plan)

    monkeypatch.setattr(suite, "row_of", stop)
    assert main(["bench", "--json"]) == 130
    captured = capsys.readouterr()
    results = from_json(captured.out)
    assert [row.example for row in results.rows] == ["one"]
    assert not results.complete
    assert "interrupted" in captured.err
    assert seen == ["one", "two"]


def test_without_torch_it_says_how_to_install_it(torchlint, tmp_path):
    there = tmp_path / "there"
    there.mkdir()
    (there / "torch.py").write_text("raise ImportError('No module named torch')\n")
    (tmp_path / "agent.py").write_text("import torch\n")
    path = os.pathsep.join([str(there), *(p for p in sys.path if p)])
    found = torchlint("bench", cwd=tmp_path, env={"PYTHONPATH": path})
    assert found.returncode == 2
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1
    assert "pip install 'torchlint[bench]'" in found.stderr
    assert torchlint("check", "agent.py", cwd=tmp_path, env={"PYTHONPATH": path}).returncode == 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is an accelerator")
def test_an_accelerator_that_is_not_there(torchlint, tmp_path):
    found = torchlint("bench", "--device", "cuda", cwd=tmp_path)
    assert found.returncode == 2
    assert "--device cuda: torch" in found.stderr and "sees no CUDA device" in found.stderr


@pytest.mark.parametrize("arguments", [("TL1O1",), ("--rule", "legacy-tensor-constuctor"), ("--device", "tpu")])
def test_wrong_words_name_the_nearest(torchlint, tmp_path, arguments):
    found = torchlint("bench", *arguments, cwd=tmp_path)
    assert found.returncode == 2
    assert "did you mean" in found.stderr


def test_a_page_that_cannot_be_written(given, tmp_path, capsys):
    given(rule_of("TL998", "good", GOOD))
    assert main(["bench", "--quick", "--html", str(tmp_path / "nowhere" / "page.html")]) == 2
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.third
def test_own_results_are_shown_to_people_and_never_to_programs(torchlint, tmp_path):
    from benching import FIGURE, MACHINE, results, row

    from torchlint.bench.host import processor
    from torchlint.bench.result import to_json

    example = next(rule for rule in engine_rules.load_rules() if rule.code == "TL101").examples[0]
    (tmp_path / "agent.py").write_text(example.source)
    own = tmp_path / "own"
    own.mkdir()
    machine = dataclasses.replace(MACHINE, processor=processor())
    measured = row("TL101", "observation-17", figure=FIGURE, size="observation 17, obs 17")
    (own / "bench-cpu.json").write_text(to_json(results(measured, machine=machine)))
    here = {"TORCHLINT_DATA_DIR": str(own)}

    def out(*arguments, env=here):
        found = torchlint(*arguments, cwd=tmp_path, env=env)
        assert "Traceback" not in found.stderr
        return found.stdout

    check = ("check", "agent.py", "--select", "TL101", "--output-format")
    words = "about 15 us a call, 2.5x (2.2-3.0x)"
    assert words in " ".join(out(*check, "full").split())
    assert "of this machine" in " ".join(out(*check, "full").split())
    assert words not in " ".join(out(*check, "full", "--isolated").split())
    assert "CPU, here" in out("rule", "TL101")
    for machine_format in ("json", "concise", "github"):
        assert out(*check, machine_format) == out(*check, machine_format, env={})
    for machine_format in ("json", "markdown"):
        arguments = ("rule", "TL101", "--output-format", machine_format)
        assert out(*arguments) == out(*arguments, env={})
    assert json.loads(out(*check, "json"))[0]["cost"]["source"] == "bundled"
