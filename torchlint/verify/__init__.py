"""Fixes tried on the user's own program: a copy of the project, a command, and the fixes with which it passes."""
