"""Data structures without a database: indexes by aggregate value, matrix chains, reservoirs.

Invariant: a call that raises has changed nothing. Nothing is loaded before it is named.
Cost: each file states its own.
"""
