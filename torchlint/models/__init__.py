"""What is known of functions and methods of libraries: a table of rows, and queries over it.

``library.json`` holds one row for each name, with the attributes of ``schema.ATTRIBUTES``. Projects and rule packages
add rows for code of their own (``Models``).
"""

from torchlint.models.library import (
    Models,
    Names,
    Row,
    Rows,
    function_names,
    last_names,
    merged,
    method_names,
    names,
    shipped,
)
from torchlint.models.schema import ATTRIBUTES, WrongRowError, check_rows
from torchlint.models.words import Word, word_rows

__all__ = [
    "ATTRIBUTES",
    "Models",
    "Names",
    "Row",
    "Rows",
    "Word",
    "WrongRowError",
    "check_rows",
    "function_names",
    "last_names",
    "merged",
    "method_names",
    "names",
    "shipped",
    "word_rows",
]
