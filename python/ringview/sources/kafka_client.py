"""Clients of a Kafka broker, whose errors name the source, the broker and the cause.

Invariant: no exception of confluent-kafka leaves a block of `named`. The log has the client's own
lines at level debug, stderr never. Cost: a connection for messages and one for questions.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, TypeVar

from ..errors import InvalidValueError, StorageError, UnreachableError
from ..extras import load
from ..log import log
from ..text import quoted

Part = tuple[str, int]
"""A topic and the number of a partition."""
T = TypeVar("T")
_NO_ID = frozenset({"", "AAAAAAAAAAAAAAAAAAAAAA"})


class Causes:
    """The last errors that a client reports of its connections: where, and why.

    Args:
        servers: The brokers that it begins with.
        beside: A callback of the user's own, which is called, too.
    """

    def __init__(self, servers: str, beside: Callable[[Any], object] | None = None) -> None:
        self.servers = servers
        self.is_final = False
        """Whether trying again for a while does not help: a wrong password, no trust."""
        self._beside = beside
        self._last: str | None = None

    def __call__(self, problem: Any) -> None:
        """Take an error, as the client's `error_cb`."""
        text = re.sub(r" \(after \d+ms.*\)$", "", problem.str())
        log("debug", "kafka: %s", text)
        is_general = problem.name() == "_ALL_BROKERS_DOWN"
        if not is_general or self._last is None:
            self._last = text
        self.is_final |= problem.name() in ("_AUTHENTICATION", "_SSL") or "SSL hand" in text
        if self._beside is not None:
            self._beside(problem)

    def text(self, problem: Any) -> str:
        """The servers, and the cause of an error."""
        said = problem.str() if hasattr(problem, "str") else str(problem)
        more = "" if self._last is None or self._last == said else f": {self._last}"
        return f"broker {self.servers}: {said}{more}"

    def clear(self) -> None:
        """Forget them: the broker answered."""
        self._last, self.is_final = None, False


class Quiet:
    """A logger for the client, which logs each failed attempt to connect: at level debug."""

    def log(self, _: int, text: str, *values: object) -> None:
        """Take a line of the client."""
        log("debug", text, *values)


@contextlib.contextmanager
def named(owner: str, causes: Causes) -> Iterator[None]:
    """A block that calls the client, whose errors name `owner`, the broker and the cause.

    Raises:
        UnreachableError: The broker is away, or does not let the client in.
        InvalidValueError: An option that the client does not take.
        StorageError: Any other error of the client.
    """
    client = load("confluent_kafka", "Kafka", "kafka")
    try:
        yield
    except client.KafkaException as problem:
        error = problem.args[0]
        raised(owner, causes, error if isinstance(error, client.KafkaError) else problem, problem)


def raised(owner: str, causes: Causes, error: Any, problem: BaseException | None) -> NoReturn:
    """Raise an error of the client as one of ringview."""
    code = error.name() if hasattr(error, "name") else ""
    if code in ("_INVALID_ARG", "_CONFLICT") and "propert" in error.str():
        raise InvalidValueError(f"{owner}: {error.str()}") from problem
    kind = UnreachableError if code in _AWAY else StorageError
    raise kind(f"{owner}: {causes.text(error)}") from problem


def config_of(
    config: Mapping[str, Any] | None, servers: str, ours: Mapping[str, str]
) -> dict[str, Any]:
    """The options of a user, checked.

    Args:
        config: What confluent-kafka takes.
        servers: The brokers to begin with.
        ours: By option that ringview sets, the argument in its place or why it is set.

    Raises:
        InvalidValueError: One of those.
    """
    for name, why in ours.items():
        if config and name in config:
            raise InvalidValueError(f"config: {quoted(name)} is set by ringview; {why}")
    if not servers:
        raise InvalidValueError("servers='' names no broker")
    return {**(config or {}), "bootstrap.servers": servers}


class Client:
    """A consumer, and a client for questions about topics.

    Args:
        source: The name of the source, for errors.
        options: Options of confluent-kafka.
        timeout: How many seconds a broker may be away.
    """

    def __init__(self, source: str, options: Mapping[str, Any], timeout: float) -> None:
        self._client = load("confluent_kafka", "sources.kafka", "kafka")
        admin = load("confluent_kafka.admin", "sources.kafka", "kafka")
        self.owner = f"source {quoted(source)}"
        self.causes = Causes(options["bootstrap.servers"], options.get("error_cb"))
        self._timeout = timeout
        self._specs = admin.OffsetSpec
        self._has_ids = True
        options = {"logger": Quiet(), **options, "error_cb": self.causes}
        with named(self.owner, self.causes):
            self._admin = admin.AdminClient(options)
            self.consumer = self._client.Consumer(options)

    def __repr__(self) -> str:
        return f"Client({self.causes.servers!r})"

    def close(self) -> None:
        """Close the connections."""
        self.consumer.close()

    def consume(self, count: int, wait: float) -> Sequence[Any]:
        """Messages and events, at the most `count`, after so many seconds at the most."""
        with named(self.owner, self.causes):
            found: Sequence[Any] = self.consumer.consume(num_messages=count, timeout=wait)
        return found

    def assign(self, starts: Mapping[Part, int]) -> None:
        """Read partitions, each from an offset on, besides those that are read."""
        wanted = [self._client.TopicPartition(*part, at) for part, at in starts.items()]
        with named(self.owner, self.causes):
            self.consumer.incremental_assign(wanted)

    def partitions(self, topics: Sequence[str]) -> dict[str, list[int]]:
        """The numbers of the partitions of each topic; of those that a `^pattern` fits, too.

        Raises:
            StorageError: There is no such topic, or it may not be read.
            UnreachableError: The broker is away.
        """
        found: dict[str, list[int]] = {}
        for name in topics:
            if name.startswith("^"):
                continue
            topic = self._patiently(partial(self._listed, name))[name]
            if topic.error is not None:
                raise StorageError(
                    f"{self.owner}: topic {quoted(name)}: {self.causes.text(topic.error)}"
                )
            found[name] = sorted(topic.partitions)
        if any(name.startswith("^") for name in topics):
            for name, topic in sorted(self._patiently(partial(self._listed, None)).items()):
                if topic.error is None and not name.startswith("__"):
                    found.setdefault(name, sorted(topic.partitions))
        return found

    def _listed(self, topic: str | None, wait: float) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._admin.list_topics(topic, timeout=wait).topics
        return found

    def starts(self, parts: Sequence[Part], start: object) -> dict[Part, int]:
        """The offsets at which partitions begin: the first, the last, or at a time in ms."""
        if not parts:
            return {}
        specs = self._specs
        if isinstance(start, int):
            spec = specs.for_timestamp(start)
        else:
            spec = specs.latest() if start == "latest" else specs.earliest()
        asked = {self._client.TopicPartition(*part): spec for part in parts}

        def answered(wait: float) -> dict[Part, int]:
            futures = self._admin.list_offsets(asked, request_timeout=wait)
            return {
                (part.topic, part.partition): each.result(wait + 1).offset
                for part, each in futures.items()
            }

        found = self._patiently(answered)
        # Behind the last message there is none of that time.
        behind = [part for part, at in found.items() if at < 0]
        return found | (self.starts(behind, "latest") if isinstance(start, int) else {})

    def begin_ids(self, topics: Sequence[str]) -> Callable[[], dict[str, str]]:
        """Request the ids of topics; the result waits for the answer, which lacks unknown ones."""
        if not self._has_ids or not topics:
            return lambda: {}
        asked = self._client.TopicCollection(list(topics))
        futures = self._admin.describe_topics(asked, request_timeout=self._timeout)

        def answered() -> dict[str, str]:
            found = {}
            for topic, future in futures.items():
                try:
                    text = str(future.result(self._timeout + 1).topic_id)
                except self._client.KafkaException as problem:
                    if "UNSUPPORTED" in problem.args[0].name():
                        # A broker before 2.8 gives topics no ids.
                        self._has_ids = False
                        return {}
                    self._admin.poll(0)
                    raised(
                        f"{self.owner}: topic {quoted(topic)}",
                        self.causes,
                        problem.args[0],
                        problem,
                    )
                if text not in _NO_ID:
                    found[topic] = text
            return found

        return answered

    def _patiently(self, ask: Callable[[float], T]) -> T:
        """Repeat a request until there is an answer, the time is over, or waiting does not help."""
        end = time.monotonic() + self._timeout
        while True:
            left = end - time.monotonic()
            with named(self.owner, self.causes):
                try:
                    found = ask(max(0.05, min(1.0, left)))
                except self._client.KafkaException as problem:
                    # Errors of connections are handed over here.
                    self._admin.poll(0)
                    away = hasattr(problem.args[0], "name") and problem.args[0].name() in _AWAY
                    if not away or self.causes.is_final or time.monotonic() >= end:
                        raise
                else:
                    self.causes.clear()
                    return found


_AWAY = frozenset(
    {
        *("_TRANSPORT", "_ALL_BROKERS_DOWN", "_TIMED_OUT", "_RESOLVE", "_AUTHENTICATION", "_SSL"),
        *("_TIMED_OUT_QUEUE", "REQUEST_TIMED_OUT", "BROKER_NOT_AVAILABLE", "NOT_CONTROLLER"),
        *("_MSG_TIMED_OUT", "LEADER_NOT_AVAILABLE", "COORDINATOR_NOT_AVAILABLE"),
    }
)
"""Errors of a broker that is away for now."""
