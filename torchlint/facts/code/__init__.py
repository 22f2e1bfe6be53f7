"""What is written where, and which function each call reaches."""
