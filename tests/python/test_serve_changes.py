"""Changes as events: a snapshot, then changes; a reconnect loses and repeats nothing."""

from __future__ import annotations

import json
import random
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
import ringview as rv
from ringview import serve
from ringview.serve.events import NOTHING, Event, EventPosition, Log, Token
from ringview.serve.streams import Named, Passing, Streams
from serving import Reader, client, rows_of, shop


@pytest.fixture
def db() -> Iterator[rv.Database]:
    with rv.Database() as made:
        yield shop(made)


@pytest.fixture
def server(db: rv.Database) -> Iterator[serve.Server]:
    with serve.Server(db, port=0, writable=True) as made:
        yield made


def test_a_snapshot_comes_first_and_then_what_moves(db: rv.Database, server: serve.Server) -> None:
    reader = Reader(server.url, "totals").read(events=1)
    assert reader.rows == rows_of(server.url, "totals")
    db.insert("orders", [(4, 2, 1)])
    reader.read(events=1)
    assert (reader.snapshots, reader.events) == (1, 2)
    assert reader.rows == rows_of(server.url, "totals")


def test_a_view_without_rows_has_a_snapshot(db: rv.Database, server: serve.Server) -> None:
    db.create_view("none", "SELECT name FROM customers WHERE id > 100")
    for asked in ({}, {"follower": "mail"}):
        reader = Reader(server.url, "none", **asked).read(events=1)
        assert (reader.snapshots, len(reader.rows)) == (1, 0)
        db.insert("customers", [(200, "Alan")])
        assert reader.read(events=1).rows == rows_of(server.url, "none")
        db.delete("customers", [(200, "Alan")])


@pytest.mark.parametrize("view", ["totals", "pairs"])
@pytest.mark.parametrize("follower", [None, "mail"])
def test_readers_come_back_again_and_again(
    db: rv.Database, server: serve.Server, view: str, follower: str | None
) -> None:
    chance = random.Random(f"{view} {follower}")
    reader = Reader(server.url, view, **({} if follower is None else {"follower": follower}))
    reader.read(events=1)
    prices: dict[int, int] = {}
    for step in range(12):
        for _ in range(chance.randint(0, 3)):
            if prices and chance.random() < 0.4:
                number, price = prices.popitem()
                db.delete("orders", [(number, 1 + number % 2, price)])
            else:
                number, price = 1000 + step * 10 + len(prices), chance.randint(1, 3)
                prices[number] = price
                db.upsert("orders", [(number, 1 + number % 2, price)])
        wanted = rows_of(server.url, view)
        if reader.rows != wanted:
            reader.read_to(wanted)
        assert reader.rows == wanted
    assert reader.snapshots == 1


def test_what_was_sent_and_lost_on_its_way_comes_again(
    db: rv.Database, server: serve.Server
) -> None:
    for asked in ({}, {"follower": "mail"}):
        reader = Reader(server.url, "totals", **asked).read(events=1)
        again = Reader(server.url, "totals", **asked)
        again.last, again.rows = reader.last, reader.rows.copy()
        for at in range(3):
            db.insert("orders", [(50 + at, 1, 1)])
            reader.read(events=1)
        # As if it had got none of the three.
        again.read(events=3)
        assert (again.snapshots, again.last) == (0, reader.last)
        assert again.rows == reader.rows == rows_of(server.url, "totals")
        db.delete("orders", [(50 + at, 1, 1) for at in range(3)])


@pytest.mark.parametrize("follower", [None, "mail"])
def test_each_state_of_a_reader_is_a_committed_one(
    db: rv.Database, server: serve.Server, follower: str | None
) -> None:
    # Each transaction moves price from one order to another, so the sum is always the same.
    def write() -> None:
        for at in range(300):
            with db.transaction() as tx:
                tx.update("orders", [{"id": 1, "price": 10 + at}])
                tx.update("orders", [{"id": 3, "price": 7 - at}])

    writer = threading.Thread(target=write)
    writer.start()
    chance = random.Random(5)
    reader = Reader(server.url, "totals", **({} if follower is None else {"follower": follower}))
    sums, totals = set[Decimal](), dict[str, Decimal]()
    while totals.get("Grace") != Decimal(7 - 299):
        # It disconnects after each event or two, and reconnects; it does not wait at the last
        # state.
        reader.read(events=1)
        if chance.random() < 0.5 and "-292.00" not in str(reader.rows):
            reader.read(events=1)
        totals = {row["name"]: Decimal(row["total"]) for row in map(json.loads, reader.rows)}
        sums.add(sum(totals.values(), Decimal(0)))
    writer.join()
    assert sums == {Decimal(22)}
    assert reader.snapshots == 1


def test_a_reader_that_is_not_known_begins_anew(db: rv.Database, server: serve.Server) -> None:
    for asked in ({}, {"follower": "mail"}):
        reader = Reader(server.url, "totals", **asked).read(events=1)
        reader.last = f"{'0' * 32}.5.0"
        reader.rows["stale"] = 1
        reader.read(events=1)
        assert reader.snapshots == 2
        assert reader.rows == rows_of(server.url, "totals")


def test_a_long_snapshot_comes_in_parts(db: rv.Database, server: serve.Server) -> None:
    db.insert("customers", [(at, f"c{at}") for at in range(100, 5100)])
    db.create_view("names", "SELECT id, name FROM customers")
    reader = Reader(server.url, "names").read(events=1)
    assert reader.events == 3
    assert reader.rows == rows_of(server.url, "names")
    # One that had the first part alone is given the others.
    for follower in (None, "mail"):
        asked = {} if follower is None else {"follower": follower}
        part = Reader(server.url, "names", **asked)
        part.read(parts=1)
        part.read(events=1)
        assert (part.snapshots, part.events) == (1, 3)
        assert part.rows == reader.rows


def test_a_dropped_view_ends_its_stream(db: rv.Database, server: serve.Server) -> None:
    reader = Reader(server.url, "pairs").read(events=1)
    thread = threading.Thread(target=reader.read)
    reader.connected.clear()
    thread.start()
    assert reader.connected.wait(60)
    db.drop_view("pairs")
    thread.join(60)
    assert not thread.is_alive()
    assert reader.ended is not None


def test_a_second_reader_takes_the_place_of_the_first(
    db: rv.Database, server: serve.Server
) -> None:
    first = Reader(server.url, "totals", follower="mail").read(events=1)
    thread = threading.Thread(target=first.read)
    first.connected.clear()
    thread.start()
    assert first.connected.wait(60)
    second = Reader(server.url, "totals", follower="mail")
    second.last = first.last
    db.insert("orders", [(60, 1, 1)])
    second.rows = first.rows.copy()
    second.read(events=1)
    db.insert("orders", [(61, 1, 1)])
    thread.join(60)
    assert not thread.is_alive()
    assert second.read(events=1).rows == rows_of(server.url, "totals")


def test_places_of_followers_are_forgotten(db: rv.Database, server: serve.Server) -> None:
    Reader(server.url, "totals", follower="mail").read(events=1)
    assert db["totals"].followers == ["mail"]
    with client(server.url) as web:
        answer = web.delete("/views/totals/changes?follower=mail")
        assert answer.json() == {"forgotten": "mail"}
        assert web.delete("/views/totals/changes").status_code == 400
    assert db["totals"].followers == []


def test_streams_end_when_the_server_is_closed(db: rv.Database) -> None:
    with serve.Server(db, port=0) as server:
        readers = [Reader(server.url, "totals").read(events=1) for _ in range(5)]
        threads = [threading.Thread(target=reader.read) for reader in readers]
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert all(reader.ended is None for reader in readers)


@pytest.mark.parametrize("view", ["totals", "pairs"])
def test_a_follower_goes_on_after_the_server_was_started_anew(tmp_path: Path, view: str) -> None:
    path, reader = tmp_path / "shop.ringview", None
    with rv.Database.open(path) as db:
        shop(db)
    for step in range(4):
        with rv.Database.open(path) as db:
            db.insert("orders", [(100 + 10 * step, 1, 1)])
            with serve.Server(db, port=0, writable=True) as server:
                reader = _again(reader, server.url, view)
                reader.read_to(rows_of(server.url, view))
                db.insert("orders", [(101 + 10 * step, 2, 1)])
                reader.read_to(rows_of(server.url, view))
            db.insert("orders", [(102 + 10 * step, 2, 1)])
    assert reader is not None
    # Rows that may be equal are sent anew: which of two equal batches was the last is not known.
    assert reader.snapshots == (1 if view == "totals" else 4)


def _again(reader: Reader | None, url: str, view: str) -> Reader:
    found = Reader(url, view, follower="mail")
    if reader is not None:
        found.last, found.rows, found.snapshots = reader.last, reader.rows, reader.snapshots
    return found


def test_a_place_that_the_file_is_past_begins_anew(tmp_path: Path) -> None:
    path, places = tmp_path / "shop.ringview", list[tuple[str | None, Counter[str]]]()
    with rv.Database.open(path) as db, serve.Server(shop(db), port=0, writable=True) as server:
        reader = Reader(server.url, "totals", follower="mail").read(events=1)
        for at in range(4):
            places.append((reader.last, reader.rows.copy()))
            db.insert("orders", [(100 + at, 1, 1)])
            reader.read(events=1)
        places.append((reader.last, reader.rows.copy()))
    # Whether the last one was committed is up to who was faster: then one is sent all anew.
    for at, snapshots in [(4, {0}), (3, {0, 1}), (1, {1})]:
        copy = shutil.copy(path, tmp_path / f"{at}.ringview")
        with rv.Database.open(copy) as db, serve.Server(db, port=0, writable=True) as server:
            db.insert("orders", [(999, 2, 1)])
            again = Reader(server.url, "totals", follower="mail")
            again.last, again.rows = places[at][0], places[at][1].copy()
            wanted = rows_of(server.url, "totals")
            again.read_to(wanted)
            assert again.snapshots in snapshots


def test_streams_that_nobody_comes_back_to_are_forgotten(db: rv.Database) -> None:
    streams = Streams(db, seconds=0.0)
    stream, place, reader = streams.open(db["totals"], None, None)
    assert place == NOTHING
    assert stream.next(place)
    token = Token(stream.owner, stream.after(place)[-1].place)
    streams.leave(stream, reader)
    other, place, _ = streams.open(db["totals"], None, token)
    assert (other is stream, place) == (False, NOTHING)
    # One that left before any event is forgotten, too, and one that reads is not.
    gone, _, _ = streams.open(db["totals"], None, None)
    reading, _, _ = streams.open(db["totals"], None, None)
    streams.begin(reading)
    streams.expire()
    assert repr(streams) == "Streams(passing=1, named=0)"
    with pytest.raises(rv.RingviewError, match="closed"):
        gone.next(NOTHING)
    assert reading.next(NOTHING)
    streams.close()
    kept = Streams(db, seconds=60.0, most=2)
    opened = [kept.open(db["totals"], None, None) for _ in range(4)]
    for stream, _, _ in opened:
        kept.begin(stream)
    for stream, _, reader in opened:
        kept.leave(stream, reader)
    assert repr(kept) == "Streams(passing=2, named=0)"
    kept.close()


def test_a_look_that_takes_long_holds_up_nobody_who_reads_what_is_kept(db: rv.Database) -> None:
    looking, gate = threading.Event(), threading.Event()

    class Slow(Passing):
        def _look(self, sent: EventPosition) -> list[Event]:
            looking.set()
            gate.wait(60)
            return super()._look(sent)

    stream = Slow(db["totals"])
    thread = threading.Thread(target=stream.next, args=[NOTHING])
    thread.start()
    assert looking.wait(60)
    assert stream.after(NOTHING) == []
    gate.set()
    thread.join()
    assert len(stream.after(NOTHING)) == 1
    stream.close()


def test_a_stream_keeps_no_more_than_it_may() -> None:
    log = Log(kept=10)
    for batch in range(1, 6):
        log.add([Event(EventPosition(batch, 0), b"12345")])
    assert log.after(EventPosition(2, 0)) is None
    found = log.after(EventPosition(3, 0))
    assert found is not None
    assert [event.place.batch for event in found] == [4, 5]
    assert log.after(EventPosition(6, 0)) is None
    # An event that is longer than that is kept until it is sent.
    log.add([Event(EventPosition(6, -1), b"1" * 50), Event(EventPosition(6, 0), b"1")])
    whole = log.after(EventPosition(5, 0))
    assert whole is not None
    assert len(whole) == 2


@pytest.mark.parametrize(
    "text", ["", "a", "a.1", "a.1.2.3", "a.-1.0", "a.1.x", "a.².", f"a.{'1' * 5000}.0"]
)
def test_tokens_that_are_none(text: str) -> None:
    assert Token.read(text) is None


def test_a_token_of_the_future_is_not_known(db: rv.Database) -> None:
    for stream in (Passing(db["totals"]), Named(db, db["totals"], "mail")):
        assert stream.next(NOTHING)
        assert stream.resume(Token(stream.owner, EventPosition(7, 0))) is None
        stream.close()
