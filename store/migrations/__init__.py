"""How the database's schema came to be, one step per file in ``versions``."""
