"""The same SQL over Spark DataFrames.

    result = ringview.spark.evaluate(
        "SELECT o.custkey, SUM(l.price) AS spent FROM orders o JOIN lineitem l USING (orderkey) "
        "GROUP BY o.custkey",
        tables={"orders": orders, "lineitem": lineitem},
    )

Any DataFrames in, a DataFrame out, with ringview's contract: exact decimals, sums
that never wrap, SQL's NULLs. Rows are routed by a variable of the join, one engine
runs in each partition, and partial results are added in the ring.
Cost: one shuffle of the needed columns, and one of the partial results.
"""

import importlib.util

from ringview.extras import missing

try:
    import pyspark
except ImportError as error:
    raise missing("pyspark", "ringview.spark", "spark") from error

from ringview.spark.releases import BATCH, release

if release() < BATCH:
    raise ImportError(
        f"ringview.spark needs PySpark {'.'.join(map(str, BATCH))} or later, and "
        f"{pyspark.__version__} is installed: pip install --upgrade 'ringview[spark]'"
    )

if release() < (4, 0) and importlib.util.find_spec("distutils") is None:
    raise ImportError(
        f"PySpark {pyspark.__version__} needs distutils, which Python has not had since 3.12, and "
        "setuptools brings: pip install setuptools"
    )

from ringview.spark.evaluation import Evaluation, Views, evaluate, plan, prepare, views
from ringview.spark.failure import raising
from ringview.spark.plans import Plan
from ringview.spark.sample import sample
from ringview.spark.session import JavaNotFoundError, session
from ringview.spark.streaming import CheckpointError, ParquetSink, metrics, stream

__all__ = [
    "CheckpointError",
    "Evaluation",
    "JavaNotFoundError",
    "ParquetSink",
    "Plan",
    "Views",
    "evaluate",
    "metrics",
    "plan",
    "prepare",
    "raising",
    "sample",
    "session",
    "stream",
    "views",
]
