"""TL8: instrumentation left on."""
