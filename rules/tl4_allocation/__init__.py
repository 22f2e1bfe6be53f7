"""TL4: allocation and memory growth."""
