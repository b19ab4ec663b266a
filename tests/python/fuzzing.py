"""Mutations of a kept corpus, and the loop of the fuzzers, each a program of its own.

`python fuzz_X.py FIRST COUNT` runs so many seeds, `python fuzz_X.py FIRST 900s` those of so many
seconds. Each seed is printed before its case, and `done` at the end. A case that lasts longer than
`LIMIT` ends the process with the stacks of its threads. Seeds below `len(corpus)` are the corpus as
it is.
"""

from __future__ import annotations

import faulthandler
import random
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
PATIENCE = 30.0
SILENCE = 0.05
LIMIT = 60
"""Seconds of one case, far above what it takes on a machine that is busy."""
_BYTES = [0, 1, 9, 10, 32, 34, 39, 47, 92, 127, 128, 255]
_WORDS = [
    *(b"\0", b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\xff\xff"),
    *(b"\r\n", b"\r\n\r\n", b"\xc3\xa9", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"-1", b"%00"),
    *(b"9" * 40, b"1e999", b"A" * 3000, b"(" * 300, b"[" * 300, b"{" * 300),
]


def corpus(kind: str) -> list[bytes]:
    """The inputs that are kept, in the order of their names; escapes make them lines of text."""
    found = []
    for path in sorted((CORPUS / kind).glob("*.txt")):
        lines = path.read_text(encoding="ascii").splitlines()
        found.append(
            b"".join(
                line.encode().decode("unicode_escape").encode("latin-1")
                for line in lines
                if not line.startswith("#")
            )
        )
    return found


def mutated(at: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The same with a few bytes that say something else."""
    changed = bytearray(data)
    for _ in range(at.choice([1, 1, 1, 2, 4, 8])):
        place = at.randrange(len(changed) + 1)
        length = at.choice([1, 2, 4, 8, 40])
        match at.randrange(7):
            case 0 if place < len(changed):
                changed[place] ^= 1 << at.randrange(8)
            case 1 if place < len(changed):
                changed[place] = at.choice(_BYTES)
            case 2:
                del changed[place : place + length]
            case 3:
                changed[place:place] = at.choice(_WORDS)
            case 4:
                changed[place : place + length] = at.choice(_WORDS)
            case 5:
                other = at.choice(others)
                start = at.randrange(len(other) + 1)
                changed[place:place] = other[start : start + at.choice([4, 20, 200])]
            case _:
                changed[place:place] = changed[place : place + length] * at.choice([1, 2, 50])
    return bytes(changed)


def said(address: tuple[str, int], data: bytes, is_whole: bool = True) -> bytes:
    """The answer of a server to some bytes, up to its end.

    If they are not whole, the client says that it sends no more once the server is silent: one that
    leaves need not be answered.
    """
    found = b""
    with socket.create_connection(address, timeout=PATIENCE) as made:
        try:
            made.sendall(data)
            made.settimeout(PATIENCE if is_whole else SILENCE)
            try:
                while part := made.recv(1 << 16):
                    found += part
                return found
            except TimeoutError:
                assert not is_whole, (data, found)
                made.settimeout(PATIENCE)
                made.shutdown(socket.SHUT_WR)
            while part := made.recv(1 << 16):
                found += part
        except ConnectionError:
            # It disconnected before it had read all.
            pass
    return found


def run(case: Callable[[int], object]) -> None:
    """Run the seeds that the arguments of this program name."""
    first, count = int(sys.argv[1]), sys.argv[2]
    end = time.monotonic() + float(count[:-1]) if count.endswith("s") else None
    seed = first
    while time.monotonic() < end if end is not None else seed < first + int(count):
        print(seed, flush=True)
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        case(seed)
        faulthandler.cancel_dump_traceback_later()
        seed += 1
    print("done", flush=True)
