"""``python -m livelens`` is the command ``livelens``."""

from livelens.cli import main

main()
