"""Conversions: rows, keys, types, moments and sizes, from the forms that users write and to them.

Invariant: a value keeps its meaning, or is refused with its place. Nothing is loaded before it is
named. Cost: each file states its own.
"""
