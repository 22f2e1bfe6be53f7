"""What stays the same, what is kept, and what code reads and changes."""
