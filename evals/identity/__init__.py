"""Whether drafting leaves the output as it is: every edit decoded with and without, token for token."""
