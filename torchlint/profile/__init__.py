"""What was measured: reads profiles of several tools into one model, and maps it onto the functions of a project."""
