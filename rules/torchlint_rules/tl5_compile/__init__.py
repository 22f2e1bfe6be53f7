"""Rules about ``torch.compile``."""
