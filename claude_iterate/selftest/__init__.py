"""Scripted faults that run against the real command line with the built-in fake Claude."""
