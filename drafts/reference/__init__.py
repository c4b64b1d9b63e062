"""The oracle: speculative decoding written to be read, on torch, one sequence at a time.

Nothing serves from here. Tests compare what serves with it, and it runs where the serving engine does not.
"""
