"""livelens."""
