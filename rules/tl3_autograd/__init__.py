"""TL3: autograd modes and the graph."""
