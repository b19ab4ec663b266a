"""The table `[serve]` of a job: where it is served, to whom, and how much at once.

Invariant: every key is checked before anything is opened; the token is read from its file when the
server starts. Cost: O(keys).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ringview.errors import InvalidValueError
from ringview.job.checks import JobError, check_keys, strings, value
from ringview.private_files import check_private

_LOCAL = ("127.0.0.1", "localhost", "::1")
_KEYS = (
    *("file", "host", "port", "postgres", "token", "token_file", "writable", "followers"),
    *("origins", "max_connections", "max_body", "max_rows", "timeout", "pace"),
    *("certificate", "key", "plain"),
)


@dataclass(frozen=True)
class ServeSpec:
    """Options of serving a job; without `[serve]` at an address of this machine, only to be read.

    ``file`` keeps the database, so that a restart continues where it was; ``postgres`` is the port
    of PostgreSQL's protocol; ``pace`` is the number of rows of the job's files that are applied in
    a second; ``certificate`` and ``key`` are files of TLS, without which ``plain`` permits other
    machines to be served.
    """

    file: Path | None = None
    host: str = "127.0.0.1"
    port: int = 8080
    postgres: int | None = None
    token: str | None = None
    token_file: Path | None = None
    writable: bool = False
    followers: bool | None = None
    origins: tuple[str, ...] = ()
    max_connections: int = 100
    max_body: int = 64 * 2**20
    max_rows: int = 1_000_000
    timeout: float = 30.0
    pace: float | None = None
    certificate: Path | None = None
    key: Path | None = None
    plain: bool = False

    def secret(self) -> str | None:
        """The token, from its file if it has one.

        Raises:
            JobError: The file cannot be read, is empty, or may be read by other users.
        """
        if self.token_file is None:
            return self.token
        try:
            check_private(self.token_file)
            found = self.token_file.read_text(encoding="utf-8").strip()
        except InvalidValueError as error:
            raise JobError(f"serve.token_file: {error}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise JobError(f"serve.token_file: cannot read {self.token_file}: {error}") from error
        if not found:
            raise JobError(f"serve.token_file: {self.token_file} is empty; write the token into it")
        return found

    def files(self) -> tuple[Path, Path] | None:
        """The files of TLS, if it has them.

        Raises:
            JobError: There is a certificate without a key, or a key without a certificate.
        """
        if self.certificate is None and self.key is None:
            return None
        if self.certificate is None or self.key is None:
            raise JobError("serve.certificate and serve.key: name both files, or neither")
        return self.certificate, self.key

    def __repr__(self) -> str:
        # A token is in no log.
        return f"ServeSpec(host={self.host!r}, port={self.port})"


def serve_of(raw: Mapping[str, Any], base: Path) -> ServeSpec:
    """Check the table `[serve]`.

    >>> serve_of({"serve": {"port": 8000}}, Path("."))
    ServeSpec(host='127.0.0.1', port=8000)
    """
    entry = value(raw, "serve", dict, "", default={})
    check_keys(entry, _KEYS, "serve")
    text = {key: value(entry, key, str, "serve", default=None) for key in ("token", "token_file")}
    if text["token"] is not None and text["token_file"] is not None:
        raise JobError("serve.token_file: there is a token already; leave out either")
    if text["token"] == "":
        raise JobError("serve.token: is empty; leave it out, or give one")
    host = value(entry, "host", str, "serve", default=ServeSpec.host)
    if host not in _LOCAL and not any(text.values()):
        raise JobError(
            f'serve.host: "{host}" may be reached from a network, so it needs a token: set token '
            'or token_file, or host = "127.0.0.1"'
        )
    file = value(entry, "file", str, "serve", default=None)
    tls = {key: value(entry, key, str, "serve", default=None) for key in ("certificate", "key")}
    postgres = _port(entry, "postgres", None)
    port = _port(entry, "port", ServeSpec.port)
    assert port is not None
    if postgres is not None and postgres == port != 0:
        raise JobError(f"serve.postgres: port {port} is that of HTTP; choose another one")
    made = ServeSpec(
        file=None if file is None else base / file,
        host=host,
        port=port,
        postgres=postgres,
        token=text["token"],
        token_file=None if text["token_file"] is None else base / text["token_file"],
        writable=value(entry, "writable", bool, "serve", default=False),
        followers=value(entry, "followers", bool, "serve", default=None),
        origins=strings(entry, "origins", "serve") or (),
        max_connections=_count(entry, "max_connections"),
        max_body=_count(entry, "max_body"),
        max_rows=_count(entry, "max_rows"),
        timeout=_seconds(entry, "timeout", ServeSpec.timeout) or ServeSpec.timeout,
        pace=_seconds(entry, "pace", None),
        plain=value(entry, "plain", bool, "serve", default=False),
        **{key: None if path is None else base / path for key, path in tls.items()},
    )
    if made.files() is None and host not in _LOCAL and not made.plain:
        raise JobError(
            f'serve.host: "{host}" may be reached from a network, so it needs TLS: set certificate '
            'and key, plain = true behind a proxy that has TLS, or host = "127.0.0.1"'
        )
    return made


def _port(entry: Mapping[str, Any], key: str, default: int | None) -> int | None:
    found: int | None = value(entry, key, int, "serve", default=default)
    if found is not None and not 0 <= found < 2**16:
        raise JobError(f"serve.{key}: must be a port from 0 to 65535, not {found}")
    return found


def _count(entry: Mapping[str, Any], key: str) -> int:
    found: int = value(entry, key, int, "serve", default=getattr(ServeSpec, key))
    if not 1 <= found < 2**63:
        raise JobError(f"serve.{key}: must be at least 1 and below 2^63, not {found}")
    return found


def _seconds(entry: Mapping[str, Any], key: str, default: float | None) -> float | None:
    found: float | None = value(entry, key, float, "serve", default=default)
    if found is not None and not 0 < found < float("inf"):
        raise JobError(f"serve.{key}: must be above 0, not {found}")
    return found
