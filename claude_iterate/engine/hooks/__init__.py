"""Hooks: programs of the user that a run calls at certain points."""
