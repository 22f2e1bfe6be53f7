"""Finding, reading and checking the configuration."""
