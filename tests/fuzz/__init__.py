"""Random programs, and what must hold of each of them when it is linted and fixed."""
