"""``python -m ringview.cli``: the same as the console script ``ringview``."""

from ringview.cli import main

main()
