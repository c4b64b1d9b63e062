"""The page: what any runs of `redraft eval` measured, in one HTML file that needs no network."""
