"""The errors of ringview, one exception for each kind that a caller may want to catch.

Every one of them is a `RingviewError`, and also the built-in exception that a Python user would
expect in its place (`KeyError`, `ValueError`, ..). An error leaves nothing half done: tables and
views are as they were before the call.
"""

import builtins
from collections.abc import Iterable
from difflib import get_close_matches

from .text import quoted

__all__ = [
    "ArithmeticOverflowError",
    "CheckpointError",
    "CostWarning",
    "DuplicateKeyError",
    "ExistsError",
    "FunctionError",
    "InUseError",
    "InvalidValueError",
    "MissingExtraError",
    "NullKeyError",
    "OutOfMemoryError",
    "OverDeleteError",
    "QueryError",
    "RingviewError",
    "SingularSystemError",
    "SnapshotError",
    "StaticTableError",
    "StorageError",
    "SuspendedError",
    "TooFewRowsError",
    "TypeMismatchError",
    "UnknownColumnError",
    "UnknownFunctionError",
    "UnknownKeyError",
    "UnknownTableError",
    "UnknownViewError",
    "UnreachableError",
    "UnsupportedError",
    "ViewChangedError",
]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Text behind an unknown name where one of the `known` looks like it.

    The engine's messages end with it too.

    >>> did_you_mean("custmer", ["order", "Customer"]), did_you_mean("x", ["order"])
    ('; did you mean "Customer"?', '')
    """
    names = {other.lower(): other for other in known}
    near = get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    return f"; did you mean {quoted(names[near[0]])}?" if near else ""


class RingviewError(Exception):
    """The root of all errors of ringview.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> try:
    ...     db.drop_table("orders")
    ... except rv.RingviewError as error:
    ...     print(error)
    there is no table "orders"; there are no tables yet
    """

    def __str__(self) -> str:
        # KeyError would show the repr of the message.
        return str(self.args[0]) if len(self.args) == 1 else super().__str__()


class UnknownTableError(RingviewError, KeyError):
    """A table was named that does not exist."""


class UnknownViewError(RingviewError, KeyError):
    """A view was named that does not exist."""


class UnknownColumnError(RingviewError, KeyError):
    """A column was named that does not exist."""


class UnknownFunctionError(RingviewError, KeyError):
    """A function was named that does not exist, or that the views of a file call is not given."""


class FunctionError(RingviewError, RuntimeError):
    """A function of yours raised, or returned something else than it was declared to.

    The exception that it raised is the `__cause__`.

    >>> import ringview as rv
    >>> db = rv.Database()
    >>> table = db.create_table("r", {"a": "int64"})
    >>> db.create_function("inverse", lambda a: [1 / x.as_py() for x in a], ["int64"], "float64")
    >>> view = db.create_view("v", "SELECT inverse(a) AS b FROM r")
    >>> try:
    ...     table.insert({"a": [1, 2, 0]})
    ... except rv.errors.FunctionError as error:
    ...     print(error)
    ...     print(repr(error.__cause__))
    the function "inverse" raised ZeroDivisionError: division by zero for the arguments (0), in \
the view "v"; nothing was changed
    ZeroDivisionError('division by zero')
    >>> len(table)
    0
    """


class ExistsError(RingviewError, ValueError):
    """The name of a new table, view or function is taken."""


class InUseError(RingviewError, ValueError):
    """A table, view or function that views use cannot be dropped or replaced."""


class TypeMismatchError(RingviewError, TypeError):
    """A column or an expression has a type that does not fit its place."""


class InvalidValueError(RingviewError, ValueError):
    """A single value cannot be stored or used, such as 300 in an int8 column."""


class NullKeyError(RingviewError, ValueError):
    """NULL in a column that is not nullable or in a key that is looked for, NaN in a key."""


class OverDeleteError(RingviewError, ValueError):
    """More of a row was deleted than the table holds."""


class DuplicateKeyError(RingviewError, ValueError):
    """A second row was inserted with the same unique key."""


class UnknownKeyError(RingviewError, KeyError):
    """No row has the unique key of a row that was to be updated."""


class ArithmeticOverflowError(RingviewError, builtins.OverflowError):
    """A sum, product or count left the range of its type; it never wraps."""


class OutOfMemoryError(RingviewError, builtins.MemoryError):
    """Something would take more memory than `memory_limit` or the machine allows."""


class StaticTableError(RingviewError, ValueError):
    """A static table was changed after a view began to read it."""


class QueryError(RingviewError, ValueError):
    """The text of a query is wrong: its syntax, an ambiguous name, a value out of place."""


class UnsupportedError(RingviewError, ValueError):
    """Something that ringview does not do; the message names the nearest thing that works."""


class MissingExtraError(UnsupportedError, ImportError):
    """A library is not installed that this needs; the message has pip's command for it."""


class ViewChangedError(RingviewError, RuntimeError):
    """A view changed while its rows were read as a stream; read them again."""


class SuspendedError(RingviewError, RuntimeError):
    """A view is suspended: a change made it fail. `View.resume()` fills it again."""


class SnapshotError(RingviewError, ValueError):
    """A file is no database, is damaged, or was written by a newer version."""


class StorageError(RingviewError, OSError):
    """The file of a database could not be opened, made, read or written."""


class UnreachableError(StorageError):
    """A broker is away, or lets nobody in; the same may succeed later, and nothing was lost."""


class CheckpointError(RingviewError, ValueError):
    """A checkpoint, or what a sink has of one, is of something else, or lacks a part."""


class SingularSystemError(RingviewError, ValueError):
    """The features depend on each other, so no single set of coefficients fits best."""


class TooFewRowsError(RingviewError, ValueError):
    """A view has no rows, or fewer than a statistic or a model needs."""


def after(raised: BaseException, done: object, what: str) -> None:
    """Let an exception that was raised after all was done, as Ctrl-C may be, say so.

    >>> interrupt = KeyboardInterrupt()
    >>> after(interrupt, [3], "the rows are in")
    >>> interrupt
    KeyboardInterrupt('interrupted after the call was done: the rows are in')
    """
    if not done:
        return
    text = f"interrupted after the call was done: {what}"
    if raised.args:
        raised.add_note(text)
    else:
        raised.args = (text,)


class CostWarning(UserWarning):
    """A change of a new view may cost more than the rows of the keys that it has.

    Python's `warnings` hold it, once a view: a product of tables, or a condition that no index
    serves. The message has the cost, the reason, and a cheaper form of the query where one is
    known; `explain` says the same. Naming an engine (`engine=`) silences it.

    >>> import warnings
    >>> import ringview as rv
    >>> db = rv.Database()
    >>> for name in "ab":
    ...     _ = db.create_table(name, {name: "int64"})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = db.create_view("v", "SELECT a, b, COUNT(*) AS n FROM a, b GROUP BY a, b")
    >>> print(caught[0].category.__name__, caught[0].message)
    CostWarning view "v": a change may cost O(b[b]): a row of a is combined with every row of b[b]
    """
