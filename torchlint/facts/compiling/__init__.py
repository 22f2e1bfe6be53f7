"""What the project compiles with ``torch.compile``, who holds and calls it, and which code runs compiled."""
