"""Runs the examples of rules before and after their fix: equal results first, then time.

The modules ``result`` and ``store`` (what was measured, as data) need neither torch nor numpy; all others do.
"""
