"""TL9: runtime configuration."""
