"""Settings of a session: SET, RESET and SHOW.

Invariant: what changes how values are written stays as it is: texts are UTF-8, dates ISO, moments
in UTC. Everything else is remembered and shown, and has no effect. Cost: O(1).
"""

from __future__ import annotations

from ... import __version__
from .codes import SqlStateError
from .tokens import Piece

VERSION = "14.0"

# Initial settings of a session; those that `REPORTED` names are sent to clients.
DEFAULTS: dict[str, str] = {
    "server_version": f"{VERSION} (ringview {__version__})",
    "server_version_num": "140000",
    "version": f"PostgreSQL {VERSION} (ringview {__version__})",
    "server_encoding": "UTF8",
    "client_encoding": "UTF8",
    "integer_datetimes": "on",
    "in_hot_standby": "off",
    "is_superuser": "off",
    "default_transaction_read_only": "off",
    "standard_conforming_strings": "on",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "application_name": "",
    "search_path": "public",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "transaction_isolation": "read committed",
    "default_transaction_isolation": "read committed",
    "transaction_read_only": "off",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "extra_float_digits": "1",
    "bytea_output": "hex",
    "client_min_messages": "notice",
    "row_security": "off",
    "lc_collate": "C",
    "lc_ctype": "C",
    "lc_messages": "C",
    "wal_level": "minimal",
}
REPORTED = {
    *("server_version", "server_encoding", "client_encoding", "integer_datetimes"),
    *("in_hot_standby", "is_superuser", "default_transaction_read_only"),
    *("standard_conforming_strings", "TimeZone", "DateStyle", "IntervalStyle", "search_path"),
}
# Settings that stay, and the values that say the same.
_FIXED = {
    "client_encoding": ("utf8", "utf-8", "unicode"),
    "bytea_output": ("hex",),
    "intervalstyle": ("postgres",),
    "standard_conforming_strings": ("on", "true", "1"),
}
_READ_ONLY = {"server_version", "server_version_num", "server_encoding", "is_superuser", "version"}
_SPELT = {name.lower(): name for name in DEFAULTS}


class Settings:
    """The settings of one session.

    >>> from ringview.serve.postgres.tokens import pieces
    >>> settings = Settings({"default_transaction_read_only": "on"})
    >>> settings.set(pieces("SET application_name TO 'mine'")[0])
    [('application_name', 'mine')]
    >>> settings.show("application_name"), settings.show("default_transaction_read_only")
    ('mine', 'on')
    """

    def __init__(self, own: dict[str, str]) -> None:
        self._first = {**DEFAULTS, **own}
        self._values = dict(self._first)

    def show(self, name: str) -> str:
        """The value of a setting; raises SqlStateError if there is none."""
        spelt = _SPELT.get(name.lower(), name.lower())
        if spelt not in self._values:
            raise SqlStateError("42704", f'unrecognized configuration parameter "{name}"')
        return self._values[spelt]

    def all(self) -> dict[str, str]:
        """All of them, sorted by name."""
        return dict(sorted(self._values.items()))

    def set(self, piece: Piece) -> list[tuple[str, str]]:
        """Do a SET; returns the settings to report to the client."""
        words = piece.tokens[1:]
        if words and words[0].word in ("session", "local") and len(words) > 1:
            if words[1].word == "characteristics":
                return []
            words = words[1:]
        if not words or words[0].word in ("transaction", "constraints", "role", "session"):
            return []
        if [token.word for token in words[:2]] == ["time", "zone"]:
            name, values = "timezone", words[2:]
        elif words[0].word == "names":
            name, values = "client_encoding", words[1:]
        else:
            at = next((i for i, t in enumerate(words) if t.word in ("to", "=")), None)
            if at is None:
                raise SqlStateError(
                    "42601", "SET takes a name, TO and a value", position=piece.start + 1
                )
            name, values = "".join(t.named for t in words[:at]), words[at + 1 :]
        texts = [token.text[1:-1] if token.kind == "text" else token.named for token in values]
        return self._put(name.lower(), "".join(texts))

    def _put(self, name: str, value: str) -> list[tuple[str, str]]:
        spelt = _SPELT.get(name, name)
        if value.lower() == "default":
            value = self._first.get(spelt, "")
        if name in _READ_ONLY:
            raise SqlStateError("55P02", f'parameter "{spelt}" cannot be changed')
        if name in _FIXED and value.lower() not in _FIXED[name]:
            only = self._first.get(spelt, _FIXED[name][0])
            raise SqlStateError(
                "22023", f"{spelt} is {only}, and no other value is taken, not {value!r}"
            )
        if name in _FIXED:
            return []
        if name in ("timezone", "datestyle"):
            # Values are written as ever, each with its zone, so that nothing is read wrongly.
            return []
        self._values[spelt] = value
        return [(spelt, value)] if spelt in REPORTED | {"application_name"} else []

    def reset(self, piece: Piece) -> None:
        """Do a RESET or DISCARD."""
        name = piece.tokens[1].word if len(piece.tokens) > 1 else "all"
        spelt = _SPELT.get(name, name)
        if name == "all":
            self._values = dict(self._first)
        elif spelt in self._first:
            self._values[spelt] = self._first[spelt]
        else:
            self._values.pop(spelt, None)

    def __repr__(self) -> str:
        changed = {n: v for n, v in self._values.items() if self._first.get(n) != v}
        return f"Settings({changed})"
