"""Facts of PostgreSQL that a source depends on, and what a difference between them means.

Invariant: facts are compared in one place, `differences`, by the rules below: those that were kept
with the position, and those of the catalogue now or of the log then. A difference that could make
a table incomplete ends that table or loads it anew; one of the whole server refuses the source.
Cost: one query for all tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..text import quoted
from .pgoutput import Relation

Facts = Mapping[str, Any]
Effect = Literal["refuse", "end", "load", "note"]


@dataclass(frozen=True)
class Difference:
    """A fact that is another one, what follows, and what to do."""

    effect: Effect
    text: str


# By fact: what follows from another value, and what is said of it.
_SERVER: Mapping[str, tuple[Effect, str]] = {
    "system": ("refuse", "this is another cluster (system identifier {new}, not {old})"),
    "database": ("refuse", "this is another database ({new}, not {old})"),
    "timeline": ("refuse", "the cluster was restored (timeline {new}, not {old})"),
    "publication": ("refuse", "the publication was dropped or made anew"),
    "options": ("refuse", "the publication publishes other things ({new}, not {old})"),
    "slot": ("refuse", "PostgreSQL lost the slot, or it is of another plugin ({new})"),
}
_TABLE: Mapping[str, tuple[Effect, str]] = {
    "oid": ("end", "{gone}"),
    "kind": ("end", "it is another kind of relation ({new}, not {old})"),
    "published": ("end", "it was taken out of the publication, so changes are missing"),
    "filtered": ("end", "the publication has only some of its rows or columns"),
    "partitions": ("load", "its partitions were attached, detached, dropped or rewritten"),
}
_COLUMN: Mapping[str, tuple[Effect, str]] = {
    "number": ("end", "column {column} was dropped and made anew"),
    "type": ("end", "the type of column {column} is {says}, not {said}"),
    "modifier": ("load", "the type of column {column} is {says}, not {said}"),
    "generated": ("end", "column {column} is now generated, which the log leaves out"),
}
ANEW = "then fill it anew: refill=True at the next start"
_ELSEWHERE = (
    "; nobody knows what happened meanwhile: fill the tables anew under another name= and slot="
)


def differences_of_server(kept: Facts, found: Facts) -> Iterator[Difference]:
    """Differences that mean another server, slot or publication than the one that was read.

    >>> [each.text for each in differences_of_server({"timeline": 1}, {"timeline": 2})]
    ['the cluster was restored (timeline 2, not 1)']
    """
    yield from _compared(kept, found, _SERVER, {})


def refusal(source: str, slot: str, differs: Sequence[str]) -> str:
    """The text of the error of a source that cannot resume."""
    return f"source {quoted(source)}, slot {quoted(slot)}: {'; '.join(differs)}{_ELSEWHERE}"


def differences(
    kept: Facts, found: Facts, used: Sequence[str], evolve: str | None
) -> Iterator[Difference]:
    """Differences of a table, of facts that both have, and their effects.

    Args:
        kept: Those when it was loaded.
        found: Those of the catalogue, or of a message of the log, which has fewer.
        used: The columns that its table here has.
        evolve: Whether a column that is added is left out, added, or ends it.

    >>> kept = {"oid": 1, "columns": {"a": {"type": 20, "number": 1}}}
    >>> found = {"oid": 1, "columns": {"b": {"type": 20, "number": 1}}}
    >>> [(each.effect, each.text) for each in differences(kept, found, ["a"], None)]
    [('end', 'column "a" was renamed "b"'), ('note', 'column "b" was added')]
    """
    listed = list(_compared(kept, found, _TABLE, {"gone": _gone(found)}))
    yield from listed
    if any(each.effect == "end" for each in listed):
        return
    old, new = kept["columns"], found["columns"]
    for name in used:
        if name not in old:
            continue
        if name not in new:
            number = old[name].get("number")
            other = [each for each, column in new.items() if column.get("number") == number]
            became = f"renamed {quoted(other[0])}" if other and number is not None else "dropped"
            yield Difference("end", f"column {quoted(name)} was {became}")
            continue
        words = {"column": quoted(name), "says": new[name].get("says", "another one")}
        words["said"] = old[name].get("says")
        yield from _compared(old[name], new[name], _COLUMN, words)
    effect: Effect = {"add": "load", "refuse": "end"}.get(evolve or "", "note")  # type: ignore[assignment]
    for name in new:
        if name not in old:
            yield Difference(effect, f"column {quoted(name)} was added")


def misfits(
    facts: Facts, columns: Sequence[str], unique: Sequence[str] | None, ignore: Sequence[str]
) -> Iterator[Difference]:
    """Why a table of PostgreSQL does not fit the one that it fills, or is not read wholly."""
    if facts["oid"] is None:
        yield Difference("end", "PostgreSQL has no such table")
        return
    if facts["kind"] not in ("r", "p"):
        yield Difference("end", "it is no table whose changes are in the log (a view, maybe)")
        return
    if facts["kind"] == "p" and not facts["by_root"]:
        yield Difference(
            "end",
            "it has partitions, and the publication has no publish_via_partition_root: ALTER "
            "PUBLICATION .. SET (publish_via_partition_root = true)",
        )
    there = facts["columns"]
    for name in columns:
        if name not in there:
            yield Difference("end", f"it has no column {quoted(name)}, which the table here has")
        elif there[name]["generated"]:
            yield Difference(
                "end",
                f"column {quoted(name)} is generated, which the log leaves out; leave it out of "
                "the table here, and compute it in a view",
            )
    extra = [name for name in there if name not in columns and not there[name]["generated"]]
    left = [name for name in extra if name not in ignore]
    if left and "*" not in ignore:
        yield Difference(
            "end",
            f"it has a column {quoted(left[0])} that the table here lacks; leave it out with "
            f'ignore=[{left[0]!r}] or evolve="ignore", or add it with evolve="add"',
        )
    yield from _misfits_of_key(facts, unique)


def _misfits_of_key(facts: Facts, unique: Sequence[str] | None) -> Iterator[Difference]:
    identity, key = facts["identity"], facts["key"]
    full = "ALTER TABLE .. REPLICA IDENTITY FULL"
    if identity == "f":
        return
    if not key:
        yield Difference(
            "note",
            "it has no key that the log could name, so PostgreSQL refuses updates and deletes of "
            f"it while it is published; rows that are only added need no more, else {full}",
        )
    elif unique is None:
        yield Difference(
            "end",
            f"the table here has no key: declare it with unique={key!r}, or let PostgreSQL write "
            f"whole rows: {full}",
        )
    elif sorted(unique) != sorted(key):
        yield Difference(
            "end",
            f"its key is {', '.join(key)}, and that of the table here {', '.join(unique)}: declare "
            f"that with unique={key!r}, or let PostgreSQL write whole rows: {full}",
        )


def facts_of_relation(relation: Relation) -> Facts:
    """The facts that a message of the log has."""
    columns = zip(relation.columns, relation.types, relation.modifiers, strict=True)
    return {
        "oid": relation.oid,
        "columns": {name: {"type": kind, "modifier": more} for name, kind, more in columns},
    }


def facts_of_server(con: Any, publication: str, slot: str) -> dict[str, Any]:
    """Identity, slot and publication of the server now, and its place in the log."""
    row = con.execute(
        """
        SELECT (SELECT system_identifier::text FROM pg_control_system()),
            substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
            (pg_current_wal_insert_lsn() - '0/0')::bigint, current_database(),
            (SELECT oid::bigint FROM pg_publication WHERE pubname = %s),
            (SELECT concat_ws(' ', CASE WHEN pubinsert THEN 'insert' END,
                    CASE WHEN pubupdate THEN 'update' END, CASE WHEN pubdelete THEN 'delete' END,
                    CASE WHEN pubtruncate THEN 'truncate' END,
                    CASE WHEN to_jsonb(p)->>'pubviaroot' = 'true' THEN 'by_root' END)
                FROM pg_publication p WHERE pubname = %s)
        """,
        [publication, publication],
    ).fetchone()
    found = con.execute(
        "SELECT plugin, database, to_jsonb(s)->>'wal_status', "
        "(confirmed_flush_lsn - '0/0')::bigint "
        "FROM pg_replication_slots s WHERE slot_name = %s",
        [slot],
    ).fetchone()
    plugin = None if found is None else found[0]
    if found is not None and found[2] == "lost":
        plugin = "its log was removed"
    elif found is not None and found[1] != row[3]:
        plugin = f"it is of database {found[1]}"
    return {
        "system": row[0],
        "timeline": int(row[1], 16),
        "log": row[2],
        "database": row[3],
        "publication": row[4],
        "options": row[5],
        "slot": plugin,
        "confirmed": None if found is None else found[3],
    }


_TABLES = """
    SELECT w.source, c.oid::bigint, c.relkind::text, c.relreplident::text, r.oid::bigint,
        (to_jsonb(r)->>'prqual') IS NOT NULL OR (to_jsonb(r)->>'prattrs') IS NOT NULL,
        to_jsonb(b)->>'pubviaroot' = 'true',
        (SELECT jsonb_agg(jsonb_build_object('name', a.attname, 'number', a.attnum,
                'type', a.atttypid::bigint, 'modifier', a.atttypmod,
                'says', format_type(a.atttypid, a.atttypmod), 'generated', a.attgenerated <> '',
                'nullable', NOT a.attnotnull) ORDER BY a.attnum)
            FROM pg_attribute a
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
        (SELECT jsonb_agg(a.attname ORDER BY array_position(i.indkey::int[], a.attnum::int))
            FROM pg_index i JOIN pg_attribute a
                ON a.attrelid = c.oid AND a.attnum = ANY(i.indkey[0:i.indnkeyatts - 1])
            WHERE i.indrelid = c.oid AND i.indimmediate AND i.indisvalid
                AND CASE c.relreplident
                    WHEN 'd' THEN i.indisprimary WHEN 'i' THEN i.indisreplident ELSE false END),
        CASE WHEN c.relkind = 'p' THEN (
            WITH RECURSIVE below AS (
                SELECT inhrelid FROM pg_inherits WHERE inhparent = c.oid
                UNION ALL
                SELECT i.inhrelid FROM pg_inherits i JOIN below ON i.inhparent = below.inhrelid)
            SELECT coalesce(md5(string_agg(l.oid || ':' || l.relfilenode, ',' ORDER BY l.oid)), '')
            FROM below JOIN pg_class l ON l.oid = inhrelid AND l.relkind <> 'p') END,
        (SELECT o.relnamespace::regnamespace || '.' || o.relname FROM pg_class o
            WHERE o.oid = w.kept)
    FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[]) w(source, space, name, kept)
        LEFT JOIN pg_namespace n ON n.nspname = w.space
        LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.name
        LEFT JOIN pg_publication b ON b.pubname = %s
        LEFT JOIN pg_publication_rel r ON r.prpubid = b.oid AND r.prrelid = c.oid
"""


def facts_of_tables(
    con: Any, tables: Mapping[str, int | None], publication: str
) -> dict[str, dict[str, Any]]:
    """Facts of tables by their names, each with the number that it had when it was loaded."""
    parts = [source.split(".", 1) for source in tables]
    spaces, names = [space for space, _ in parts], [name for _, name in parts]
    rows = con.execute(
        _TABLES, [list(tables), spaces, names, list(tables.values()), publication]
    ).fetchall()
    found = {}
    for source, oid, kind, identity, published, filtered, by_root, columns, key, parts, now in rows:
        found[source] = {
            "oid": oid,
            "kind": kind,
            "identity": identity,
            "published": published,
            "filtered": filtered,
            "by_root": bool(by_root),
            "columns": {each.pop("name"): each for each in columns or ()},
            "key": key or [],
            "partitions": parts,
            "now": now,
        }
    return found


def _compared(
    kept: Facts,
    found: Facts,
    rules: Mapping[str, tuple[Effect, str]],
    words: Mapping[str, Any],
) -> Iterator[Difference]:
    for fact, (effect, text) in rules.items():
        if fact in kept and fact in found and kept[fact] != found[fact]:
            said = text.format(old=kept[fact], new=found[fact], **words)
            yield Difference(effect, said)


def _gone(found: Facts) -> str:
    if found.get("now"):
        said = f"it was renamed {found['now']}: name it so in tables="
        return said if found["oid"] is None else f"{said}, or read the new one of its name"
    return "it was dropped" if found["oid"] is None else "it was dropped and made anew"
