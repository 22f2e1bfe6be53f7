"""How often lines run, and why."""
