"""TL2: synchronisation and validation."""
