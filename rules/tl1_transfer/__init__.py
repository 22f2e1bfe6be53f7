"""TL1: transfer and conversion."""
