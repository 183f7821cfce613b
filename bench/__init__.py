"""Measured figures: ``python -m bench NAME``."""
