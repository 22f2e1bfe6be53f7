"""Which packages are installed: the rules, which lie in ``rules/``, become ``torchlint.rules``."""

from setuptools import find_packages, setup

RULES = "torchlint.rules"
setup(
    packages=[*find_packages(include=["torchlint*"]), RULES, *(f"{RULES}.{name}" for name in find_packages("rules"))],
    package_dir={RULES: "rules"},
)
