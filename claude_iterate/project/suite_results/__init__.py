"""What a test command printed or wrote, as counts. Pure but for the reading of JUnit files."""
