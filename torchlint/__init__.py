"""torchlint: find, explain and fix what makes PyTorch reinforcement-learning code slow."""

__version__ = "0.1.0"
