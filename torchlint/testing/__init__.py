"""The checks that the built-in rules are held to, for the tests of any rule package.

Each check raises ``AssertionError`` with what is wrong. None needs pytest; ``check_results`` needs torch.
"""

from torchlint.testing.examples import HEADINGS, check_documentation, check_example, check_results
from torchlint.testing.fixtures import check_marks, check_names, check_twins, fixtures

__all__ = [
    "HEADINGS",
    "check_documentation",
    "check_example",
    "check_marks",
    "check_names",
    "check_results",
    "check_twins",
    "fixtures",
]
