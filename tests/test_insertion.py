"""Where the imports and definitions that a fix needs go."""

from __future__ import annotations

import ast

import pytest
from projects import source_of

from torchlint.engine.analysis import parse
from torchlint.engine.insertion import inserted_lines
from torchlint.sources.edits import apply_edits
from torchlint.sources.lines import LineTable

CASES = {
    "sorted among its like": (
        "import abc\n\nimport matplotlib\nimport torch\n\nx = 1\n",
        ("numpy as np",),
        (),
        "import abc\n\nimport matplotlib\nimport numpy as np\nimport torch\n\nx = 1\n",
    ),
    "the standard library first": ("import torch\n\nx = 1\n", ("math",), (), "import math\n\nimport torch\n\nx = 1\n"),
    "third parties after": ("import os\n\nx = 1\n", ("torch",), (), "import os\n\nimport torch\n\nx = 1\n"),
    "before from-imports of its kind": (
        "from torch import nn\n\nx = 1\n",
        ("torch",),
        (),
        "import torch\nfrom torch import nn\n\nx = 1\n",
    ),
    "there already": ("import numpy as np\n", ("numpy as np",), (), "import numpy as np\n"),
    "there by another name": ("import numpy\n", ("numpy as np",), (), "import numpy\nimport numpy as np\n"),
    "no imports": ("x = 1\n", ("torch",), (), "import torch\n\nx = 1\n"),
    "after the docstring": ('"""Doc."""\nx = 1\n', ("torch",), (), '"""Doc."""\nimport torch\n\nx = 1\n'),
    "after from __future__": (
        '"""Doc."""\n\nfrom __future__ import annotations\n\nimport torch\n',
        ("math",),
        (),
        '"""Doc."""\n\nfrom __future__ import annotations\n\nimport math\n\nimport torch\n',
    ),
    "a guarded import in between": (
        "import abc\ntry:\n    import jax\nexcept ImportError:\n    pass\nimport os\n\nx = 1\n",
        ("math",),
        (),
        "import abc\nimport math\ntry:\n    import jax\nexcept ImportError:\n    pass\nimport os\n\nx = 1\n",
    ),
    "a definition after the imports": (
        "import torch\n\nx = 1\n",
        (),
        ("_INF = 1.0",),
        "import torch\n\n_INF = 1.0\n\nx = 1\n",
    ),
    "a definition that is there": ("import torch\n\n_INF = 1.0\n", (), ("_INF = 1.0",), "import torch\n\n_INF = 1.0\n"),
    "a definition without imports": ("x = 1\n", (), ("_INF = 1.0",), "_INF = 1.0\n\nx = 1\n"),
    "before a decorated function": (
        "@decorate\ndef f():\n    pass\n",
        ("torch",),
        (),
        "import torch\n\n@decorate\ndef f():\n    pass\n",
    ),
    "an import over several rows": (
        "from torch import (\n    nn,\n)\nx = 1\n",
        (),
        ("_INF = 1.0",),
        "from torch import (\n    nn,\n)\n\n_INF = 1.0\nx = 1\n",
    ),
    "without a newline at the end": ("import abc", ("math",), (), "import abc\nimport math\n"),
    "a row of two statements": ("import abc; x = 1\ny = 2\n", ("math",), (), "import abc; x = 1\nimport math\ny = 2\n"),
    "a shebang": ("#!/usr/bin/python\nx = 1\n", ("math",), (), "#!/usr/bin/python\nimport math\n\nx = 1\n"),
}


@pytest.mark.parametrize(("text", "imports", "definitions", "expected"), CASES.values(), ids=CASES)
def test_inserted_lines(text: str, imports: tuple[str, ...], definitions: tuple[str, ...], expected: str) -> None:
    source = source_of("code.py", text)
    [facts], _ = parse({"code.py": source})
    edits = inserted_lines(facts, LineTable(source.utf8), imports, definitions)
    after = apply_edits(source, edits).text
    ast.parse(after)
    assert after == expected


def test_the_file_s_own_line_ends_are_used() -> None:
    source = source_of("code.py", "import abc\r\n\r\nx = 1\r\n")
    [facts], _ = parse({"code.py": source})
    edits = inserted_lines(facts, LineTable(source.utf8), ("math",), ("_INF = 1.0",))
    expected = "import abc\r\nimport math\r\n\r\n_INF = 1.0\r\n\r\nx = 1\r\n"
    assert apply_edits(source, edits).text == expected
