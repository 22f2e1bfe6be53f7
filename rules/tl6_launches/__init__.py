"""TL6: kernel launches and vectorisation."""
