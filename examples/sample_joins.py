"""Paths of three calls, estimated from a sample while calls are inserted and deleted.

    python examples/sample_joins.py [estimates.png]

Calls between the subscribers of a network arrive in batches, and those of a day ago leave. Paths of
three calls, each begun where the last one ended, are more than anybody would keep: a sample of
2,000 of them estimates how long their first call lasts on average. Each estimate is printed with
its interval of 95% and the true value, of a view that counts all paths. It draws them all into the
picture, if one is named (extra `plot`).

prints

      420 of       420 paths: the first call lasts 115.5 s (115.5 to 115.5), in truth 115.5 s
     2000 of 1,177,694 paths: the first call lasts 123.3 s (120.5 to 126.1), in truth 120.5 s
     2000 of 5,682,372 paths: the first call lasts 140.9 s (137.4 to 144.3), in truth 140.0 s
     2000 of 5,994,154 paths: the first call lasts 172.5 s (168.1 to 176.8), in truth 173.9 s
"""

import sys

import numpy as np
import pyarrow as pa
import ringview as rv

BATCHES, KEPT, CALLS, SUBSCRIBERS = 40, 24, 500, 1500

PATHS = """
    FROM calls x JOIN calls y ON x.callee = y.caller JOIN calls z ON y.callee = z.caller
"""


def main(picture: str | None = None) -> None:
    """Keep the sample and the true value fresh for 40 batches."""
    random = np.random.default_rng(7)
    db = rv.Database()
    db.create_table("calls", {"caller": "int64", "callee": "int64", "seconds": "int64"})
    columns = "x.caller AS first, x.seconds AS s1, y.seconds AS s2, z.seconds AS s3"
    sample = db.create_sample("some", f"SELECT {columns} {PATHS}", k=2000, seed=7)
    whole = db.create_view("all", f"SELECT COUNT(*) AS n, AVG(x.seconds) AS s {PATHS}")
    batches: list[pa.Table] = []
    history, truth = [], []
    for at in range(BATCHES):
        batches.append(calls(random, at))
        with db.transaction() as tx:
            tx.insert("calls", batches[-1])
            if at >= KEPT:
                tx.delete("calls", batches[at - KEPT])
        found = sample.estimate("avg", "s1")
        true = whole.to_arrow().to_pylist()[0]
        history.append(found)
        truth.append(true["s"])
        if at % 13 == 0:
            low, high = round(found.low, 1), round(found.high, 1)
            print(
                f"{len(sample):5} of {sample.join_size():9,} paths: the first call lasts "
                f"{found.value:5.1f} s ({low:5.1f} to {high:5.1f}), in truth {true['s']:5.1f} s"
            )
    if picture is not None:
        axes = rv.plot.estimates(history, truth=truth, label="from 2,000 paths")
        axes.set_xlabel("batch")
        axes.set_ylabel("seconds of the first call")
        axes.figure.savefig(picture)


def calls(random: np.random.Generator, at: int) -> pa.Table:
    """A batch of calls; few subscribers make most of them, and calls grow longer."""
    caller = (SUBSCRIBERS * random.random(CALLS) ** 2).astype(np.int64)
    callee = (SUBSCRIBERS * random.random(CALLS) ** 2).astype(np.int64)
    seconds = random.integers(10, 200 + 5 * at, CALLS)
    return pa.table({"caller": caller, "callee": callee, "seconds": seconds})


if __name__ == "__main__":
    main(*sys.argv[1:2])
