"""What expressions are worth: kinds, dtypes, devices, shapes."""
