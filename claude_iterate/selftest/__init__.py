"""Scripted faults, played against the real command line with the built-in fake Claude. Nothing here changes a run."""
