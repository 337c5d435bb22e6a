"""Readers of a run: each gets every entry in order, and none can stop the run."""
