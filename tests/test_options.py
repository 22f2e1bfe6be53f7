"""What settings are known to be: options of a command line, and objects of classes that libraries fill."""

from __future__ import annotations

import pytest
from projects import Code

from torchlint.rule import Device, Kind

OPTION = """
import argparse
import torch
def options():
    parser = argparse.ArgumentParser()
    parser.add_argument({option})
    return parser.parse_args()
def train(args, x: torch.Tensor):
    show({shown})
if __name__ == "__main__":
    train(options(), torch.zeros(3))
"""
KNOWN = {
    '"--tau", type=float, default=0.1': ("args.tau", Kind.NUMBER, "float"),
    '"-t", "--tau-end", type=float, default=1': ("args.tau_end", Kind.NUMBER, "float"),
    '"--size", type=int, required=True': ("args.size", Kind.NUMBER, "int"),
    '"size", type=int': ("args.size", Kind.NUMBER, "int"),
    '"--size", default=8': ("args.size", Kind.NUMBER, "int"),
    '"--cuda", action="store_true"': ("args.cuda", Kind.NUMBER, "bool"),
    '"--cuda", action=argparse.BooleanOptionalAction, default=True': ("args.cuda", Kind.NUMBER, "bool"),
    '"--cuda", type=lambda x: x == "yes", default=False': ("args.cuda", Kind.NUMBER, "bool"),
    '"--verbose", "-v", action="count", default=0': ("args.verbose", Kind.NUMBER, "int"),
    '"--env", default="Hopper-v4"': ("args.env", Kind.STRING, None),
    '"--env", dest="name", type=str, required=True': ("args.name", Kind.STRING, None),
    '"--sizes", type=int, nargs="+", default=[64]': ("args.sizes[0]", Kind.NUMBER, "int"),
}
UNKNOWN = {
    '"--seed", type=int': "args.seed",
    '"--seed", type=int, default=None': "args.seed",
    '"--rate", type=float, default="none"': "args.rate",
    '"--rate", type=convert, default=options': "args.rate",
    '"--rate", action=Store': "args.rate",
    '"--rates", type=float, nargs="?", default=0.1': "args.rates",
    '"--rate", type=float, default=0.1': "args.other",
}


@pytest.mark.parametrize("option", KNOWN)
def test_an_option_is_what_its_declaration_says(option: str) -> None:
    shown, kind, dtype = KNOWN[option]
    found = Code(OPTION.format(option=option, shown=shown)).value()
    assert (found.kind, found.dtype, found.literal) == (kind, dtype, None)


@pytest.mark.parametrize("option", UNKNOWN)
def test_an_option_that_may_be_something_else_is_unknown(option: str) -> None:
    assert Code(OPTION.format(option=option, shown=UNKNOWN[option])).value().kind is Kind.UNKNOWN


@pytest.mark.parametrize(
    "more",
    [
        "    parser.set_defaults(**load())\n",
        "    for key, value in load().items():\n        setattr(parser, key, value)\n",
        "    parser.__dict__.update(load())\n",
        "    vars(parser).update(load())\n",
        "    parser.parse_args([], load())\n",
        "    parser.parse_args(namespace=load())\n",
    ],
)
def test_options_that_a_file_may_set_are_unknown(more: str) -> None:
    text = OPTION.format(option='"--tau", type=float, default=0.1', shown="args.tau")
    assert Code(text).value().kind is Kind.NUMBER
    assert Code(text.replace("    return parser", f"{more}    return parser")).value().kind is Kind.UNKNOWN


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ("parser.set_defaults(other=None)", Kind.NUMBER),
        ("parser.set_defaults(tau=0.5)", Kind.NUMBER),
        ("parser.set_defaults(tau=None)", Kind.UNKNOWN),
        ('parser.set_defaults(tau="auto")', Kind.UNKNOWN),
        ('setattr(parser, "tau", load())', Kind.UNKNOWN),
    ],
)
def test_defaults_that_code_sets_by_name_count(more: str, kind: Kind) -> None:
    text = OPTION.format(option='"--tau", type=float, default=0.1', shown="args.tau")
    assert Code(text.replace("    return parser", f"    {more}\n    return parser")).value().kind is kind


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ("other(parser.prog)", Kind.NUMBER),
        ("own(parser)", Kind.NUMBER),
        ("library.declare(parser)", Kind.UNKNOWN),
        ("library.declare(to=parser)", Kind.UNKNOWN),
        ("argparse.ArgumentParser(parents=[library.parser()])", Kind.UNKNOWN),
    ],
)
def test_what_code_assigns_alone_decides_where_all_declarations_are_in_sight(more: str, kind: Kind) -> None:
    text = OPTION.format(option='"--n", type=int, default=4', shown="args.size")
    text = text.replace("import torch", "import torch\nimport library\ndef own(parser):\n    pass")
    text = text.replace("    show(", "    args.size = args.n * 2\n    show(")
    assert Code(text.replace("    return parser", f"    {more}\n    return parser")).value().kind is kind


def test_what_code_sets_later_counts_too() -> None:
    text = OPTION.format(option='"--n", type=int, default=4', shown="args.n")
    assert Code(text.replace("    show(", "    args.n = args.n * 2\n    show(")).value().kind is Kind.NUMBER
    assert Code(text.replace("    show(", "    args.n = x\n    show(")).value().kind is Kind.UNKNOWN
    known = text.replace("parser.parse_args()", "parser.parse_known_args()[0]")
    assert Code(known).value().kind is Kind.NUMBER


def test_a_parser_is_known_on_its_way_and_as_an_attribute() -> None:
    code = Code(
        {
            "main.py": """
            import argparse
            from agent import Agent
            class Program:
                def __init__(self):
                    self.parser = argparse.ArgumentParser()
                    self.declare()
                    self.settings = self.parser.parse_args()
                def declare(self):
                    self.parser.add_argument("--epsilon", type=float, default=0.1)
                def run(self):
                    return Agent(self.settings)
            Program().run()
            """,
            "agent.py": """
            import torch
            class Agent:
                def __init__(self, params):
                    self.epsilon = params.epsilon
                def act(self):
                    show(torch.rand(()) > self.epsilon)
            """,
        }
    )
    found = code.value("agent.py")
    assert (found.kind, found.device) == (Kind.TENSOR, Device.CPU)


@pytest.mark.parametrize(
    ("defined", "kind", "dtype"),
    [
        ('float("tau", 0.1, "help")', Kind.NUMBER, "float"),
        ('integer("tau", 1, "help")', Kind.NUMBER, "int"),
        ('boolean("tau", True, "help")', Kind.NUMBER, "bool"),
        ('enum("tau", "a", ["a"], "help")', Kind.STRING, None),
        ('float("tau", None, "help")', Kind.UNKNOWN, None),
        ('float("other", 0.1, "help")', Kind.UNKNOWN, None),
    ],
)
def test_a_flag_is_what_its_definition_says(defined: str, kind: Kind, dtype: str | None) -> None:
    found = Code(f"from absl import flags\nFLAGS = flags.FLAGS\nflags.DEFINE_{defined}\nshow(FLAGS.tau)\n").value()
    assert (found.kind, found.dtype, found.literal) == (kind, dtype, None)


FILLED = """
from dataclasses import dataclass
{imports}
@dataclass
class Settings:
    gamma: float = 0.99
    sizes: tuple[int, ...] = (64, 64)
def train():
    settings = {made}
    show(settings.gamma)
"""


@pytest.mark.parametrize(
    ("imports", "made"),
    [
        ("import tyro", "tyro.cli(Settings)"),
        ("import pyrallis", "pyrallis.parse(config_class=Settings)"),
        ("from omegaconf import OmegaConf", "OmegaConf.structured(Settings)"),
        ("from transformers import HfArgumentParser", "HfArgumentParser(Settings).parse_args_into_dataclasses()[0]"),
        ("from transformers import HfArgumentParser", "HfArgumentParser([Settings]).parse_json_file('x')[0]"),
    ],
)
def test_an_object_that_a_library_fills_is_one_of_its_class(imports: str, made: str) -> None:
    found = Code(FILLED.format(imports=imports, made=made)).value()
    assert (found.kind, found.dtype, found.literal) == (Kind.NUMBER, "float", None)


def test_options_of_files_that_no_import_connects_are_apart() -> None:
    own = OPTION.format(option='"--tau", type=float, default=0.1', shown="args.tau")
    other = own.replace("type=float", "type=str")
    assert Code({"code.py": own, "other.py": other}).value().dtype == "float"
    assert Code({"code.py": own, "other.py": f"import code\n{other}"}).value().kind is Kind.UNKNOWN
    none = own.replace("--tau", "--other")
    assert Code({"code.py": none, "other.py": own}).value().kind is Kind.UNKNOWN
