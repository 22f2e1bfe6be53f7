"""torchlint: find, explain and fix what makes PyTorch reinforcement-learning code slow."""

import os

# In a checkout, the rules lie in rules/, beside this package; in an installed torchlint, inside of it.
if not os.path.isdir(os.path.join(__path__[0], "rules")):
    __path__ = [*__path__, os.path.dirname(__path__[0])]

__version__ = "0.1.0"
