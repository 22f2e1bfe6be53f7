"""TL5: `torch.compile`."""
