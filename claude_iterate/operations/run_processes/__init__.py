"""Runs apart from each other, in processes and worktrees of their own: start them, hear of them, ask them."""
