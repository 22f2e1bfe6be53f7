"""Where values and autograd graphs go."""
