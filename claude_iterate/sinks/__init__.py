"""Onlookers of a run: each reads entries in order and none can stop the run."""
