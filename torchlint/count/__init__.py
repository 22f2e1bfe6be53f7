"""Run a program on the counted device and join what its lines did to the findings."""
