"""The eight tables of TPC-H as Arrow, with dbgen's keys, value domains and selectivities.

Not dbgen's rows, but rows of the same distributions: keys of orders are sparse, a third of the
customers has no orders, lineitems follow the dates of their order, prices follow the part, comments
are cut from one text of random words. Invariant: a scale and a seed give the same rows everywhere,
and rows of an order are consecutive. Cost: O(rows), some 20 s at scale factor 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Columns = dict[str, pa.Array]


def words(text: str) -> list[str]:
    """Those of a text."""
    return text.split()


MONEY = pa.decimal128(15, 2)
START, CURRENT, DAYS = np.datetime64("1992-01-01"), np.datetime64("1995-06-17"), 2406
# Orders end 151 days before the last day, so that their lineitems arrive within it.
ORDER_DAYS = DAYS - 1
NATIONS = (
    *("ALGERIA 0", "ARGENTINA 1", "BRAZIL 1", "CANADA 1", "EGYPT 4", "ETHIOPIA 0", "FRANCE 3"),
    *("GERMANY 3", "INDIA 2", "INDONESIA 2", "IRAN 4", "IRAQ 4", "JAPAN 2", "JORDAN 4", "KENYA 0"),
    *("MOROCCO 0", "MOZAMBIQUE 0", "PERU 1", "CHINA 2", "ROMANIA 3", "SAUDI ARABIA 4", "VIETNAM 2"),
    *("RUSSIA 3", "UNITED KINGDOM 3", "UNITED STATES 1"),
)
REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
PRIORITIES = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
INSTRUCTIONS = ("COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN")
MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
TYPES = (
    ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"),
    ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"),
    ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER"),
)
CONTAINERS = (
    ("SM", "LG", "MED", "JUMBO", "WRAP"),
    ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"),
)
COLOURS = words(
    "almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood "
    "burnished chartreuse chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim "
    "dodger drab firebrick floral forest frosted gainsboro ghost goldenrod green grey honeydew "
    "hot indian ivory khaki lace lavender lawn lemon light lime linen magenta maroon medium "
    "metallic midnight mint misty moccasin navajo navy olive orange orchid pale papaya peach "
    "peru pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell sienna "
    "sky slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow"
)
WORDS = words(
    "the of furiously carefully quickly slyly blithely special pending express regular final "
    "ironic even bold silent unusual requests deposits packages accounts instructions "
    "theodolites foxes ideas dependencies pinto beans sleep wake are cajole haggle nag use "
    "boost affix detect integrate about above according across after against along"
)


@dataclass(frozen=True)
class Sizes:
    """Numbers of rows of a scale."""

    suppliers: int
    parts: int
    customers: int
    orders: int


class Generator:
    """Random tables of a scale."""

    def __init__(self, scale: float, seed: int = 22) -> None:
        self.rng = np.random.default_rng(seed)
        counts = (10_000, 200_000, 150_000, 1_500_000)
        self.sizes = Sizes(*(max(int(count * scale), 40) for count in counts))
        chosen = np.array(WORDS)[self.rng.integers(0, len(WORDS), 200_000)]
        self.text = np.frombuffer(" ".join(chosen).encode(), np.uint8)

    def static(self) -> dict[str, pa.Table]:
        """All tables but orders and lineitem."""
        found = {
            "region": pa.table(
                {
                    "r_regionkey": np.arange(len(REGIONS)),
                    "r_name": list(REGIONS),
                    "r_comment": self.comments(len(REGIONS), 31, 115),
                }
            ),
            "nation": pa.table(
                {
                    "n_nationkey": np.arange(len(NATIONS)),
                    "n_name": [nation[:-2] for nation in NATIONS],
                    "n_regionkey": np.array([int(nation[-1]) for nation in NATIONS]),
                    "n_comment": self.comments(len(NATIONS), 31, 114),
                }
            ),
            "supplier": self.supplier(),
            "part": self.part(),
            "partsupp": self.partsupp(),
            "customer": self.customer(),
        }
        return {name: required(rows) for name, rows in found.items()}

    def supplier(self) -> pa.Table:
        """Some of them have had complaints."""
        rows = self.sizes.suppliers
        comments = self.comments(rows, 25, 100).to_pylist()
        for at in self.rng.choice(rows, max(rows // 2_000, 1), replace=False):
            comments[at] = f"{comments[at][:9]}Customer {comments[at][9:14]}Complaints"
        keys = np.arange(1, rows + 1)
        return pa.table({**self.addressed("s", "Supplier", keys), "s_comment": comments})

    def customer(self) -> pa.Table:
        """Of five segments."""
        keys = np.arange(1, self.sizes.customers + 1)
        found = self.addressed("c", "Customer", keys)
        found["c_mktsegment"] = self.one_of(SEGMENTS, len(keys))
        return pa.table({**found, "c_comment": self.comments(len(keys), 29, 116)})

    def addressed(self, prefix: str, name: str, keys: Ints) -> Columns:
        """The columns that suppliers and customers share."""
        rows, rng = len(keys), self.rng
        nation = rng.integers(0, len(NATIONS), rows)
        digits = rng.integers(1000, 9999, (3, rows)).tolist()
        numbered = zip(nation.tolist(), *digits, strict=True)
        phones = [f"{n + 10}-{a % 900 + 100}-{b % 900 + 100}-{c}" for n, a, b, c in numbered]
        key = {"s": "s_suppkey", "c": "c_custkey"}[prefix]
        return {
            key: pa.array(keys),
            f"{prefix}_name": pa.array([f"{name}#{each:09d}" for each in keys.tolist()]),
            f"{prefix}_address": self.comments(rows, 10, 40),
            f"{prefix}_nationkey": pa.array(nation),
            f"{prefix}_phone": pa.array(phones),
            f"{prefix}_acctbal": money(rng.integers(-99_999, 1_000_000, rows)),
        }

    def part(self) -> pa.Table:
        """Names are five colours."""
        rows, rng = self.sizes.parts, self.rng
        keys = np.arange(1, rows + 1)
        colours = np.array(COLOURS)[rng.integers(0, len(COLOURS), (rows, 5))]
        maker = rng.integers(1, 6, rows)
        brand = 10 * maker + rng.integers(1, 6, rows)
        kinds = [self.one_of(each, rows).to_pylist() for each in TYPES]
        boxes = [self.one_of(each, rows).to_pylist() for each in CONTAINERS]
        return pa.table(
            {
                "p_partkey": keys,
                "p_name": [" ".join(each) for each in colours.tolist()],
                "p_mfgr": [f"Manufacturer#{each}" for each in maker.tolist()],
                "p_brand": [f"Brand#{each}" for each in brand.tolist()],
                "p_type": [" ".join(each) for each in zip(*kinds, strict=True)],
                "p_size": rng.integers(1, 51, rows),
                "p_container": [" ".join(each) for each in zip(*boxes, strict=True)],
                "p_retailprice": money(retail(keys)),
                "p_comment": self.comments(rows, 5, 22),
            }
        )

    def partsupp(self) -> pa.Table:
        """Four suppliers of each part."""
        keys = np.repeat(np.arange(1, self.sizes.parts + 1), 4)
        rows = len(keys)
        return pa.table(
            {
                "ps_partkey": keys,
                "ps_suppkey": self.supplier_of(keys, np.arange(rows) % 4),
                "ps_availqty": self.rng.integers(1, 10_000, rows),
                "ps_supplycost": money(self.rng.integers(100, 100_001, rows)),
                "ps_comment": self.comments(rows, 49, 198),
            }
        )

    def supplier_of(self, part: Ints, which: Ints) -> Ints:
        """The suppliers of a part, as the standard spreads them."""
        count = self.sizes.suppliers
        found: Ints = (part + which * (count // 4 + (part - 1) // count)) % count + 1
        return found

    def orders(self, first: int, count: int) -> tuple[pa.Table, pa.Table]:
        """The orders from a number on, and their lineitems."""
        rng = self.rng
        number = np.arange(first, first + count)
        # Eight keys of 32 are in use.
        key = number // 8 * 32 + number % 8 + 1
        customer = rng.integers(0, max(self.sizes.customers // 3, 1), count) * 3
        customer += rng.integers(1, 3, count)
        day = rng.integers(0, ORDER_DAYS, count)
        lines = rng.integers(1, 8, count)
        of = np.repeat(np.arange(count), lines)
        starts = np.cumsum(lines) - lines
        rows = len(of)
        part = rng.integers(1, self.sizes.parts + 1, rows)
        quantity = rng.integers(1, 51, rows)
        price = quantity * retail(part)
        discount, tax = rng.integers(0, 11, rows), rng.integers(0, 9, rows)
        ship = day[of] + rng.integers(1, 122, rows)
        commit, receipt = day[of] + rng.integers(30, 91, rows), ship + rng.integers(1, 31, rows)
        current = (CURRENT - START).astype(np.int64)
        is_open = ship > current
        flags = np.where(receipt <= current, rng.integers(0, 2, rows), 2)
        charged = price * (100 + tax) * (100 - discount) // 10_000
        opened = np.add.reduceat(is_open.astype(np.int64), starts)
        status = np.where(opened == 0, 0, np.where(opened == lines, 1, 2))
        clerks = rng.integers(1, max(self.sizes.orders // 1_500, 1) + 1, count).tolist()
        orders = pa.table(
            {
                "o_orderkey": key,
                "o_custkey": customer,
                "o_orderstatus": taken(("F", "O", "P"), status),
                "o_totalprice": money(np.add.reduceat(charged, starts)),
                "o_orderdate": dates(day),
                "o_orderpriority": self.one_of(PRIORITIES, count),
                "o_clerk": [f"Clerk#{clerk:09d}" for clerk in clerks],
                "o_shippriority": np.zeros(count, np.int64),
                "o_comment": self.comments(count, 19, 78),
            }
        )
        lineitem = pa.table(
            {
                "l_orderkey": key[of],
                "l_partkey": part,
                "l_suppkey": self.supplier_of(part, rng.integers(0, 4, rows)),
                "l_linenumber": np.arange(rows) - starts[of] + 1,
                "l_quantity": money(100 * quantity),
                "l_extendedprice": money(price),
                "l_discount": money(discount),
                "l_tax": money(tax),
                "l_returnflag": taken(("R", "A", "N"), flags),
                "l_linestatus": taken(("F", "O"), is_open.astype(np.int64)),
                "l_shipdate": dates(ship),
                "l_commitdate": dates(commit),
                "l_receiptdate": dates(receipt),
                "l_shipinstruct": self.one_of(INSTRUCTIONS, rows),
                "l_shipmode": self.one_of(MODES, rows),
                "l_comment": self.comments(rows, 10, 43),
            }
        )
        return required(orders), required(lineitem)

    def one_of(self, values: tuple[str, ...], rows: int) -> pa.Array:
        """Some of the values."""
        return taken(values, self.rng.integers(0, len(values), rows))

    def comments(self, rows: int, shortest: int, longest: int) -> pa.Array:
        """Pieces of the text."""
        lengths = self.rng.integers(shortest, longest + 1, rows)
        starts = self.rng.integers(0, len(self.text) - longest, rows)
        offsets = np.zeros(rows + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        at = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.text[at])]
        return pa.Array.from_buffers(pa.string(), rows, buffers)


def required(rows: pa.Table) -> pa.Table:
    """The same; no column has NULL, as the standard says."""
    return rows.cast(pa.schema([field.with_nullable(False) for field in rows.schema]))


def retail(part: Ints) -> Ints:
    """The price of a part in cents."""
    return 90_000 + part // 10 % 20_001 + 100 * (part % 1_000)


def taken(values: tuple[str, ...], at: Ints) -> pa.Array:
    """Values by their numbers."""
    return pa.array(values).take(pa.array(at))


def money(cents: Ints) -> pa.Array:
    """Cents as decimals."""
    words = np.stack([cents, cents >> 63], axis=1)
    return pa.Array.from_buffers(MONEY, len(cents), [None, pa.py_buffer(words)])


def dates(day: Ints) -> pa.Array:
    """Days of the stream as dates."""
    return pa.array(START + day, pa.date32())
