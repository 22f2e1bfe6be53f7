"""Rules about synchronisation with the device and about validation."""
