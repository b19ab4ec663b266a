"""Followers in asyncio: each change once, whatever is cancelled; few threads, and none left."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
import ringview as rv
from ringview import asyncio_waiter, errors
from ringview.follower import Poll

LONG = 120.0


def make(views: int = 1) -> tuple[rv.Database, list[rv.View]]:
    db = rv.Database()
    db.create_table("r", {"a": "int64", "b": "int64"})
    text = "SELECT a, SUM(b) AS b FROM r WHERE a % {} = 0 GROUP BY a"
    return db, [db.create_view(f"v{at}", text.format(at + 1)) for at in range(views)]


def bag(batches: list[pa.Table]) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for batch in batches:
        for row in batch.to_pylist():
            found[row["a"], int(row["b"])] += row["multiplicity"]
    return +found


def rows(view: rv.View) -> Counter[tuple[int, int]]:
    return Counter((row["a"], row["b"]) for row in view)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONG):
        while not holds():
            await asyncio.sleep(0.005)


def waiters() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "ringview waits"]


def test_async_for_is_given_every_change_while_the_loop_goes_on() -> None:
    async def main() -> None:
        db, [view] = make()
        seen: list[pa.Table] = []

        async def read() -> None:
            async for batch in view.follow():
                seen.append(batch)

        reading = asyncio.create_task(read())
        for step in range(40):
            await asyncio.to_thread(db.insert, "r", {"a": [step % 7], "b": [step]})
            await asyncio.sleep(0)
        await until(lambda: bag(seen) == rows(view))
        assert len(seen) > 1
        await asyncio.to_thread(db.close)
        await asyncio.wait_for(reading, LONG)

    asyncio.run(main())
    assert waiters() == []


def test_many_followers_of_a_view_wait_in_one_thread_which_ends_with_them() -> None:
    async def main() -> None:
        db, views = make(2)
        followers = [view.follow(initial=False) for view in views for _ in range(100)]
        tasks = [asyncio.create_task(follower.next_changes()) for follower in followers]
        await until(lambda: sum(len(w._waiters) for w in asyncio_waiter._WATCHES.values()) == 200)
        assert len(waiters()) == 2
        db.insert("r", {"a": [1], "b": [1]})
        found = await asyncio.wait_for(asyncio.gather(*tasks[:100]), LONG)
        assert all(batch is not None and batch.num_rows == 1 for batch in found)
        assert not any(task.done() for task in tasks[100:])
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks[100:], return_exceptions=True)
        await until(lambda: waiters() == [])
        assert asyncio_waiter._WATCHES == {}
        db.insert("r", {"a": [2], "b": [1]})
        for follower in followers:
            batch = await follower.next_changes(LONG)
            assert batch is not None
            assert batch["a"].to_pylist() == [2]

    asyncio.run(main())


def test_a_task_that_is_cancelled_at_any_time_loses_no_change() -> None:
    async def main() -> None:
        db, [view] = make()
        follower = view.follow()
        seen: list[pa.Table] = []
        cancelled = 0
        for step in range(300):
            task = asyncio.create_task(follower.next_changes())
            insert = asyncio.create_task(
                asyncio.to_thread(db.insert, "r", {"a": [step % 5], "b": [1]})
            )
            for _ in range(step % 12):
                await asyncio.sleep(0)
            if step % 3 == 0:
                await asyncio.sleep(0.0001 * (step % 20))
            task.cancel()
            try:
                found = await task
            except asyncio.CancelledError:
                cancelled += 1
            else:
                assert found is not None
                seen.append(found)
            await insert
        while (found := await follower.next_changes(timeout=0)) is not None:
            seen.append(found)
        assert cancelled > 10
        assert bag(seen) == rows(view) == Counter({(a, 60): 1 for a in range(5)})

    asyncio.run(main())


class Unwilling:
    """A follower whose task withdraws between the look and the end of the call."""

    def __init__(self, native: Any, follower: rv.Follower, task: list[asyncio.Task[Any]]) -> None:
        self.native, self.follower, self.task = native, follower, task
        self.loop = asyncio.get_running_loop()

    def wait(self, seconds: float) -> bool:
        return bool(self.native.wait(seconds))

    def changes(self, into: Any) -> Any:
        taken = self.native.changes(into)
        withdrawn = threading.Event()

        def cancel() -> None:
            self.task[0].cancel()
            # The task runs its handlers before this.
            self.loop.call_soon(lambda: self.loop.call_soon(withdrawn.set))

        self.loop.call_soon_threadsafe(cancel)
        assert withdrawn.wait(LONG)
        return taken

    def __getattr__(self, name: str) -> Any:
        return getattr(self.native, name)


def test_changes_on_their_way_to_a_cancelled_task_are_kept_and_not_committed(
    tmp_path: Any,
) -> None:
    async def main() -> None:
        with rv.Database.open(tmp_path / "r.ringview") as db:
            db.create_table("r", {"a": "int64"})
            view = db.create_view("v", "SELECT a FROM r")
            follower = view.follow("mail", initial=False)
            db.insert("r", {"a": [1]})
            for look in (follower.changes, follower.poll, None):
                native, task = follower._native, list[asyncio.Task[Any]]()
                unwilling: Any = Unwilling(native, follower, task)
                follower._native = unwilling
                task.append(asyncio.create_task(follower.next_changes()))
                with pytest.raises(asyncio.CancelledError):
                    await task[0]
                follower._native = native
                with pytest.raises(errors.RingviewError, match="has not seen"):
                    follower.commit()
                found = look() if look is not None else await follower.next_changes(LONG)
                assert found is not None
                assert found.column_names == ["a", "multiplicity"]
                assert found.num_rows == 1
                assert follower.poll() is None
                follower.commit()
                db.insert("r", {"a": [2]})

    asyncio.run(main())


def test_a_look_that_is_withdrawn_before_it_takes_leaves_everything() -> None:
    _, [view] = make()
    view._native.apply([("r", 1, pa.table({"a": [1], "b": [2]}), None)], None, [], False, None)
    follower = view.follow()
    taking = Poll(follower._native)
    assert taking.withdraw() is None
    assert taking() is None
    late = Poll(follower._native)
    take = late._take

    def withdrawn(rows: Any) -> pa.Table:
        late.withdraw()
        return take(rows)

    late._take = withdrawn  # type: ignore[method-assign]
    assert late() is None
    assert late.withdraw() is None
    assert follower.changes().num_rows == 1


def test_waiting_has_a_limit_and_what_moved_back_is_nothing() -> None:
    async def main() -> None:
        db, [view] = make()
        async with view.follow(timeout=0.01) as follower:
            assert await follower.next_changes(timeout=0) is None
            assert [batch async for batch in follower] == []
            task = asyncio.create_task(follower.next_changes(LONG))
            await until(lambda: waiters() != [])
            with db.transaction() as tx:
                tx.insert("r", {"a": [1], "b": [1]})
                tx.delete("r", {"a": [1], "b": [1]})
            await asyncio.sleep(0.01)
            assert not task.done()
            db.insert("r", {"a": [1], "b": [3]})
            found = await task
            assert found is not None
            assert found.to_pylist() == [{"a": 1, "b": 3, "multiplicity": 1}]
        assert follower.closed

    asyncio.run(main())


@pytest.mark.parametrize("end", ["follower", "view", "database"])
def test_async_for_ends_when_nothing_more_can_come(end: str) -> None:
    async def main() -> None:
        db, [view, _] = make(2)
        first, follower = view.follow(initial=False), view.follow(initial=False)

        async def read(of: rv.Follower) -> list[int]:
            return [batch.num_rows async for batch in of]

        other = asyncio.create_task(read(first))
        await until(lambda: waiters() != [])
        task = asyncio.create_task(read(follower))
        await until(lambda: sum(len(w._waiters) for w in asyncio_waiter._WATCHES.values()) == 2)
        ends = {
            "follower": follower.close,
            "view": lambda: db.drop_view("v0"),
            "database": db.close,
        }
        await asyncio.to_thread(ends[end])
        assert await asyncio.wait_for(task, LONG) == []
        with pytest.raises(errors.RingviewError):
            await follower.next_changes(0)
        if end == "follower":
            assert not other.done()
            first.close()
        assert await asyncio.wait_for(other, LONG) == []

    asyncio.run(main())
    deadline = threading.Event()
    while waiters():
        deadline.wait(0.01)


def test_the_process_ends_with_a_loop_that_was_left() -> None:
    code = """
import asyncio, ringview as rv
db = rv.Database()
db.create_table("r", {"a": "int64"})
view = db.create_view("v", "SELECT COUNT(*) AS n FROM r")
loop = asyncio.new_event_loop()
task = loop.create_task(view.follow(initial=False).next_changes())
loop.run_until_complete(asyncio.sleep(0.2))
print("left")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG, check=True
    )
    assert done.stdout == "left\n"


def test_an_error_of_the_view_reaches_the_task() -> None:
    async def main() -> None:
        db, [view] = make()
        follower = view.follow(initial=False)
        task = asyncio.create_task(follower.next_changes())
        await until(lambda: waiters() != [])
        db.drop_view("v0")
        with pytest.raises(errors.UnknownViewError, match="there is no view"):
            await asyncio.wait_for(task, LONG)

    asyncio.run(main())


def test_a_forked_process_waits_on_its_own() -> None:
    asyncio_waiter._WATCHES[("left", "by", "the parent")] = asyncio_waiter._Watch(("left",))
    lock = asyncio_waiter._LOCK
    try:
        with lock:
            asyncio_waiter._forget()
        assert asyncio_waiter._WATCHES == {}
        assert asyncio_waiter._LOCK is not lock
    finally:
        asyncio_waiter._WATCHES.clear()
