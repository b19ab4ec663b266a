"""Always-fresh analytics over joins, under inserts and deletes.

Invariant: after each change every view equals its SQL over the tables as they are now.
Importing this module loads the engine alone; pyarrow and the SQL parser are loaded at their first
use.

>>> import ringview as rv
>>> db = rv.Database()
>>> _ = db.create_table("sales", {"shop": "string", "units": "int64", "price": "int64"})
>>> revenue = db.create_view(
...     "revenue", "SELECT shop, SUM(units * price) AS total FROM sales GROUP BY shop")
>>> db.insert("sales", [{"shop": "north", "units": 3, "price": 20},
...                     {"shop": "south", "units": 1, "price": 50}])
>>> list(revenue)
[{'shop': 'north', 'total': 60}, {'shop': 'south', 'total': 50}]
"""

from importlib import import_module
from typing import TYPE_CHECKING

from . import errors
from ._native import __version__
from .convert.factors import decompose
from .database import Database, FileStatus
from .errors import RingviewError
from .follower import Follower
from .functions import Function
from .table import Table
from .transaction import Transaction
from .view import View

if TYPE_CHECKING:
    from . import graph as graph
    from . import job as job
    from . import ml as ml
    from . import plot as plot
    from . import serve as serve
    from . import sinks as sinks
    from . import sources as sources
    from . import spark as spark
    from . import stats as stats
    from .sample import Sample as Sample
    from .structures.indexes import PaiMap as PaiMap
    from .structures.indexes import RpaiTree as RpaiTree
    from .structures.matrix_chain import MatrixChain as MatrixChain
    from .structures.reservoir import Reservoir as Reservoir

__all__ = [
    "Database",
    "FileStatus",
    "Follower",
    "Function",
    "RingviewError",
    "Table",
    "Transaction",
    "View",
    "__version__",
    "decompose",
    "errors",
]

# Parts that are imported when they are first named: most have needs of their own.
_MODULES = ("graph", "job", "ml", "plot", "serve", "sinks", "sources", "spark", "stats")
_NAMES = {
    "MatrixChain": "structures.matrix_chain",
    "PaiMap": "structures.indexes",
    "Reservoir": "structures.reservoir",
    "RpaiTree": "structures.indexes",
    "Sample": "sample",
}


# Type checkers see the imports above, and so a name that is not there.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Load a part with needs of its own."""
        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        if name in _NAMES:
            return getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Names of the module, loaded or not."""
    return sorted({*__all__, *_MODULES, *_NAMES})
