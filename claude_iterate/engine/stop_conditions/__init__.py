"""What the user looks for after an iteration to end the run: patterns in what was said, and scripts."""
