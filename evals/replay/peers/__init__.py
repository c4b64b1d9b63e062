"""Drafters that others publish, driven by the same loop as ours."""
