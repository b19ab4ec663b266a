"""Nexmark's three streams as Arrow: persons, auctions and bids in the proportions of its generator.

Of 50 events one is a person, three are auctions, 46 bids; half of the bids are for a hot auction,
three of four bidders and sellers are hot ones, prices are spread evenly over six orders of
magnitude, an auction is open for about 1,667 events. Invariant: a seed gives the same events
everywhere, in the order of their time. Cost: O(events).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]
PROPORTIONS = {"person": 1, "auction": 3, "bid": 46}
EPOCH = sum(PROPORTIONS.values())
FIRST_ID, FIRST_CATEGORY, CATEGORIES = 1_000, 10, 5
HOT_AUCTIONS, HOT_PEOPLE = 2, 4
# A hot auction or person is the first of so many.
STRIDE = 100
AUCTIONS_IN_FLIGHT, ACTIVE_PEOPLE, LEAD = 100, 1_000, 10
MICROSECONDS_APART = 100
START = np.datetime64("2015-07-15T00:00:00", "us")
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond"),
    *("Seattle", "Kent", "Cheyenne"),
)
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter")
LAST_NAMES = (
    "Shultz",
    "Abrams",
    "Spencer",
    "White",
    "Bartels",
    "Walton",
    "Smith",
    "Jones",
    "Noris",
)
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
CHANNELS = 10_000
SIDE = pa.table({"key": list(range(4)), "value": [f"side {key}" for key in range(4)]})


def chosen(among: tuple[str, ...], which: Ints) -> pa.Array:
    """Texts by their numbers."""
    return pa.array(among).take(pa.array(which % len(among)))


@dataclass
class Generator:
    """Makes events by their numbers."""

    seed: int = 20_150_715

    def events(self, first: int, number: int) -> dict[str, pa.Table]:
        """The rows of so many events, by table; both numbers are multiples of 50."""
        if first % EPOCH or number % EPOCH:
            raise ValueError(f"events come in lots of {EPOCH}")
        self.random = np.random.default_rng([self.seed, first])
        at = np.arange(first, first + number, dtype=np.int64)
        self.epoch, offset = at // EPOCH, at % EPOCH
        is_auction = (offset > 0) & (offset <= PROPORTIONS["auction"])
        return {
            "person": self.persons(at[offset == 0]),
            "auction": self.auctions(at[is_auction]),
            "bid": self.bids(at[offset > PROPORTIONS["auction"]]),
        }

    def below(self, most: int, number: int) -> Ints:
        """Even integers below a bound."""
        return self.random.integers(0, most, number, dtype=np.int64)

    def prices(self, number: int) -> Ints:
        """In cents, spread over six orders of magnitude."""
        found: Ints = np.round(10 ** (self.random.random(number) * 6) * 100).astype(np.int64)
        return found

    def people(self, epoch: Ints) -> Ints:
        """Sellers or bidders: one of the hot persons, or one of the active."""
        number = len(epoch)
        hot = epoch // STRIDE * STRIDE
        active = np.minimum(epoch, ACTIVE_PEOPLE)
        other = epoch - active + (self.random.random(number) * (active + LEAD)).astype(np.int64)
        return FIRST_ID + np.where(self.below(HOT_PEOPLE, number) > 0, hot, other)

    def persons(self, at: Ints) -> pa.Table:
        """One a lot."""
        number = len(at)
        first, last = (self.below(100, number) for _ in range(2))
        names = zip(
            chosen(FIRST_NAMES, first).to_pylist(),
            chosen(LAST_NAMES, last).to_pylist(),
            strict=True,
        )
        full = [" ".join(name) for name in names]
        return pa.table(
            {
                "id": FIRST_ID + at // EPOCH,
                "name": full,
                "email": [f"{name.replace(' ', '.').lower()}@nexmark.com" for name in full],
                "city": chosen(CITIES, self.below(len(CITIES), number)),
                "state": chosen(STATES, self.below(len(STATES), number)),
                "date_time": times(at),
            }
        )

    def auctions(self, at: Ints) -> pa.Table:
        """Three a lot."""
        number, epoch = len(at), at // EPOCH
        per_epoch = PROPORTIONS["auction"]
        horizon = AUCTIONS_IN_FLIGHT * EPOCH // per_epoch * MICROSECONDS_APART
        initial = self.prices(number)
        return pa.table(
            {
                "id": FIRST_ID + epoch * per_epoch + at % EPOCH - 1,
                "item": [f"item {what}" for what in self.below(1_000, number).tolist()],
                "initial": initial,
                "reserve": initial + self.prices(number),
                "date_time": times(at),
                "expires": pa.array(moments(at) + 1 + self.below(2 * horizon, number)),
                "seller": self.people(epoch),
                "category": FIRST_CATEGORY + self.below(CATEGORIES, number),
            }
        )

    def bids(self, at: Ints) -> pa.Table:
        """46 a lot."""
        number, epoch = len(at), at // EPOCH
        last = epoch * PROPORTIONS["auction"] + PROPORTIONS["auction"] - 1
        least = np.maximum(last - AUCTIONS_IN_FLIGHT, 0)
        open_ = least + (self.random.random(number) * (last - least + 1 + LEAD)).astype(np.int64)
        hot = last // STRIDE * STRIDE
        is_hot = self.below(HOT_AUCTIONS, number) > 0
        is_hot_channel = self.below(2, number) > 0
        which = self.below(CHANNELS, number)
        channels = [
            HOT_CHANNELS[one % len(HOT_CHANNELS)] if is_known else f"channel-{one}"
            for one, is_known in zip(which.tolist(), is_hot_channel.tolist(), strict=True)
        ]
        urls = [
            f"https://www.nexmark.com/{one % 97}/{one % 89}/{one}/item.htm?query=1"
            + ("" if is_known else f"&channel_id={one}")
            for one, is_known in zip(which.tolist(), is_hot_channel.tolist(), strict=True)
        ]
        extra = [
            "".join(letters) for letters in LETTERS[self.below(26, 40 * number)].reshape(number, 40)
        ]
        return pa.table(
            {
                "auction": FIRST_ID + np.where(is_hot, hot, open_),
                "bidder": self.people(epoch),
                "price": self.prices(number),
                "channel": channels,
                "url": urls,
                "date_time": times(at),
                "extra": extra,
            }
        )


LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def moments(at: Ints) -> NDArray[np.datetime64]:
    """When events are."""
    found: NDArray[np.datetime64] = START + (at * MICROSECONDS_APART).astype("timedelta64[us]")
    return found


def times(at: Ints) -> pa.Array:
    """The same as Arrow."""
    return pa.array(moments(at), pa.timestamp("us"))
