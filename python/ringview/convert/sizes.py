"""Sizes of memory as people write them, numbers of threads, of rows and of random generators.

Invariant: a size is a whole number of bytes, one or more. kB, MB, GB and TB are powers of 1000,
KiB, MiB, GiB and TiB of 1024; upper and lower case are the same.
"""

from __future__ import annotations

import re
from decimal import Decimal

from ..errors import InvalidValueError, TypeMismatchError

_UNITS = {"": 1, "b": 1} | {
    prefix + unit: base**power
    for power, prefix in enumerate("kmgt", start=1)
    for unit, base in (("b", 1000), ("ib", 1024))
}


def size(given: int | str) -> int:
    """The bytes of a size.

    Args:
        given: Bytes, or text: a number and a unit.

    Raises:
        InvalidValueError: It is not a size.

    >>> size("1.5GiB"), size("512 MB"), size(4096)
    (1610612736, 512000000, 4096)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(given).lower())
    scale = _UNITS.get(match[2]) if match else None
    bytes_ = 0 if match is None or scale is None else int(Decimal(match[1]) * scale)
    if isinstance(given, bool | float) or not 0 < bytes_ < 2**64:
        raise InvalidValueError(
            f"memory_limit={given!r} is not a size; write a number of bytes, or text such as "
            '"512MB", "2GB" or "1.5GiB"'
        )
    return bytes_


def threads(given: int) -> int:
    """A number of threads.

    Raises:
        InvalidValueError: It is not a whole number from 1 to 1,024.

    >>> threads(2)
    2
    """
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= 1_024:
        raise InvalidValueError(
            f"threads={given!r} is not a number of threads; write a whole number from 1 to 1,024, "
            "such as os.cpu_count()"
        )
    return given


def whole(name: str, given: int, least: int = 0, most: str = "2^64 - 1") -> int:
    """A whole number of 64 bits, such as a seed or a number of rows.

    Raises:
        TypeMismatchError: It is not an integer.
        InvalidValueError: It is below `least`, or has more bits; the message says `most`.

    >>> whole("seed", 7)
    7
    """
    # NumPy's integers are no int.
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeMismatchError(f"{name}={given!r} is not an integer")
    if not least <= given < 2**64:
        raise InvalidValueError(f"{name}={given} is out of range; it is {least} to {most}")
    return given
