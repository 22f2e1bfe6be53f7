"""Rules about allocation and memory growth."""
