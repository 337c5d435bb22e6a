"""Runs as processes of their own: start them, hear of them, ask them for something."""
