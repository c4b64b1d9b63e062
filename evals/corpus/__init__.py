"""Corpora of real edits: their records, and the builders that make them from histories and from released packages."""
