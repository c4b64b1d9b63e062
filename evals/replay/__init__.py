"""Replay: recorded outputs fed through drafters as a target model would emit them. No model runs, nothing is timed but
the drafters, and the counts are the same on every machine."""
