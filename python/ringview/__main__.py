"""``python -m ringview``: the same as the console script ``ringview``."""

from ringview.cli import main

main()
