"""Knows the layout on disk: workspaces, their files, the journal, the lock, settings files. Nobody else does."""
