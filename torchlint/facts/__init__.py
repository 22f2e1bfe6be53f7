"""What is known of the code before any rule runs, from `ast`."""
