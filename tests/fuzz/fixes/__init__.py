"""Random programs around every rule with a safe fix, run before and after the fix on random inputs."""
