"""Text as every database can keep it. Pure."""


def clean(text: str) -> str:
    """Return ``text`` without NUL characters, and with U+FFFD for each surrogate that stands alone.

    PostgreSQL refuses both; SQLite stores a NUL and then no longer finds what follows it. Surrogates that form
    a pair, as some JSON writers leave them, become the character they stand for.
    """
    if text.isascii():
        return text.replace("\0", "")
    return text.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
