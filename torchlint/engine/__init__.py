"""Gate, sites, pairing with LibCST, findings, fixes."""
