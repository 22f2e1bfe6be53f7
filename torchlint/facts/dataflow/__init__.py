"""The value-flow graph: its nodes, its edges, and how they are followed forward and backward."""
