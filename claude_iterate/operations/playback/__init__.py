"""Runs shown again from their journals, by the console of a live run: while they go on, or long after."""
