"""Proves a claim of completion: the user's checks, then Claude's review."""
