"""The documentation site: pages that are made from the rules, the settings, the commands and the measurements.

``hook.py`` hands them to MkDocs. Everything else here needs no MkDocs, and so do the tests.
"""
