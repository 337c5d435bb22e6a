"""What the last look at a repository left, and saves the next one work."""
