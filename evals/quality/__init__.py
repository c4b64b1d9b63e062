"""How good the applied edits are: the service's results against what the edit's author made of the file."""
