"""Measured work: what each iteration changed, and what the test command says."""
