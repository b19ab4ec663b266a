"""PostgreSQL's wire protocol over a database: it is read, written and subscribed to.

Invariant: a transaction belongs to its connection; who reads waits for nobody but a commit. Cost:
of a statement, what `Database.sql` or `execute` costs, and a fraction of a millisecond around it.
"""

from .server import PostgresServer

__all__ = ["PostgresServer"]
