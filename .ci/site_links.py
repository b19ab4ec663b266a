"""Lets pages of the site link to files outside of docs/, which are read at the repository.

Invariant: a link to a file that is not there is an error. Cost: a look at each link.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")
LOG = logging.getLogger("mkdocs.hooks.site_links")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put the repository's address before links that lead out of the folder of pages."""
    folder = (Path(config["docs_dir"]) / page.file.src_uri).parent

    def rewritten(found: re.Match[str]) -> str:
        target = (folder / found[1]).resolve()
        if target.is_relative_to(config["docs_dir"]):
            return found[0]
        if not target.exists():
            LOG.warning("%s links to %s, which is not there", page.file.src_uri, found[1])
        kind = "tree" if target.is_dir() else "blob"
        place = target.relative_to(ROOT).as_posix()
        return f"]({config['repo_url']}/{kind}/main/{place}{found[2] or ''})"

    return LINK.sub(rewritten, markdown)
