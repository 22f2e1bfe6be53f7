"""The cache of a project: one file, read before anything else is imported.

The modules here stand on ``os`` and ``sys`` alone. A run in which nothing changed imports nothing more.
"""
