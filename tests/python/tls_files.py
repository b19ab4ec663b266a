"""Certificates for tests, made by openssl."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest


def certified(folder: Path, name: str = "localhost") -> tuple[Path, Path]:
    """A certificate that signs itself, and its key, in place of those that the folder has."""
    paths = folder / "server.crt", folder / "server.key"
    new = folder / "new.crt", folder / "new.key"
    command = [
        *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-nodes", "-days", "2", "-subj", f"/CN={name}"),
        *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
        *("-keyout", str(new[1]), "-out", str(new[0])),
    ]
    try:
        subprocess.run(command, capture_output=True, check=True, timeout=60)
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("openssl is not there")
    new[1].chmod(0o600)
    for made, path in zip(new, paths, strict=True):
        os.replace(made, path)
    return paths


def far() -> str:
    """An address of this machine that others reach, too."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Nothing is sent.
            probe.connect(("192.0.2.1", 9))
            found: str = probe.getsockname()[0]
        except OSError:
            found = "127.0.0.1"
    if found.startswith("127."):
        pytest.skip("this machine has no address that others reach")
    return found
