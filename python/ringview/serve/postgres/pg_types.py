"""The types that clients find in PostgreSQL's catalogue.

Invariant: numbers and names are PostgreSQL's own. Cost: none.
"""

from __future__ import annotations

# Types that columns of the catalogue are cast to, as what DuckDB has for them.
TYPES: dict[str, str] = {
    "name": "varchar",
    "regclass": "varchar",
    "regtype": "varchar",
    "regproc": "varchar",
    "regprocedure": "varchar",
    "regnamespace": "varchar",
    "regrole": "varchar",
    "aclitem": "varchar",
    "int2vector": "smallint[]",
    "oidvector": "bigint[]",
    "xid": "bigint",
    "cardinal_number": "integer",
    "character_data": "varchar",
    "sql_identifier": "varchar",
    "yes_or_no": "varchar",
    "pg_node_tree": "varchar",
}

# The name that SQL has for a type: oid, name, that name, category, bytes, type of its items.
PG_TYPES: list[tuple[int, str, str, str, int, int]] = [
    (16, "bool", "boolean", "B", 1, 0),
    (17, "bytea", "bytea", "U", -1, 0),
    (18, "char", '"char"', "S", 1, 0),
    (19, "name", "name", "S", 64, 0),
    (20, "int8", "bigint", "N", 8, 0),
    (21, "int2", "smallint", "N", 2, 0),
    (23, "int4", "integer", "N", 4, 0),
    (25, "text", "text", "S", -1, 0),
    (26, "oid", "oid", "N", 4, 0),
    (114, "json", "json", "U", -1, 0),
    (700, "float4", "real", "N", 4, 0),
    (701, "float8", "double precision", "N", 8, 0),
    (705, "unknown", "unknown", "X", -2, 0),
    (1000, "_bool", "boolean[]", "A", -1, 16),
    (1001, "_bytea", "bytea[]", "A", -1, 17),
    (1005, "_int2", "smallint[]", "A", -1, 21),
    (1007, "_int4", "integer[]", "A", -1, 23),
    (1009, "_text", "text[]", "A", -1, 25),
    (1016, "_int8", "bigint[]", "A", -1, 20),
    (1021, "_float4", "real[]", "A", -1, 700),
    (1022, "_float8", "double precision[]", "A", -1, 701),
    (1042, "bpchar", "character", "S", -1, 0),
    (1043, "varchar", "character varying", "S", -1, 0),
    (1082, "date", "date", "D", 4, 0),
    (1083, "time", "time without time zone", "D", 8, 0),
    (1114, "timestamp", "timestamp without time zone", "D", 8, 0),
    (1115, "_timestamp", "timestamp without time zone[]", "A", -1, 1114),
    (1182, "_date", "date[]", "A", -1, 1082),
    (1183, "_time", "time without time zone[]", "A", -1, 1083),
    (1184, "timestamptz", "timestamp with time zone", "D", 8, 0),
    (1185, "_timestamptz", "timestamp with time zone[]", "A", -1, 1184),
    (1186, "interval", "interval", "T", 16, 0),
    (1187, "_interval", "interval[]", "A", -1, 1186),
    (1231, "_numeric", "numeric[]", "A", -1, 1700),
    (1700, "numeric", "numeric", "N", -1, 0),
    (2950, "uuid", "uuid", "U", 16, 0),
]

# The functions of a type, by which drivers choose the format of its values.
FUNCTIONS = ("typinput", "typoutput", "typreceive", "typsend")
# Types whose functions have a `_` before what they do.
_APART = {"date", "time", "timestamp", "timestamptz", "interval", "json", "numeric", "uuid"}


def functions(type_name: str) -> tuple[str, str, str, str]:
    """Those of a type, in the order of `FUNCTIONS`.

    >>> functions("int8"), functions("date")[2], functions("_int8")[2]
    (('int8in', 'int8out', 'int8recv', 'int8send'), 'date_recv', 'array_recv')
    """
    name = "array_" if type_name[0] == "_" else type_name + "_" * (type_name in _APART)
    return f"{name}in", f"{name}out", f"{name}recv", f"{name}send"
