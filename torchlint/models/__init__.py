"""What is known of functions and methods of libraries: a table of rows, and queries over it.

``library.json`` holds one row for each name, with the attributes of ``schema.ATTRIBUTES``.
"""

from torchlint.models.library import Names, Row, Rows, function_names, method_names, shipped
from torchlint.models.schema import ATTRIBUTES, WrongRowError, check_rows

__all__ = [
    "ATTRIBUTES",
    "Names",
    "Row",
    "Rows",
    "WrongRowError",
    "check_rows",
    "function_names",
    "method_names",
    "shipped",
]
