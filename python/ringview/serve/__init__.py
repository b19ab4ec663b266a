"""A database over the network.

Invariant: a server reads and changes a database as any other thread of the process does. Cost:
that of the calls, and their bytes.
"""
