"""Rules about autograd modes and the graph."""
