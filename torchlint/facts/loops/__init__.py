"""What goes round in loops."""
