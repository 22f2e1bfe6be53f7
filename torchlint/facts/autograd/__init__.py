"""What autograd records, of which networks."""
