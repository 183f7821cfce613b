"""The tables, as the newest migration leaves them; a test compares the two."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    }
)

_row_number = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts rows in INTEGER columns only

cameras = Table(
    "cameras",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("username", Text),
    Column("password", Text),
    Column("transport", Text, nullable=False),
    Column("loop", Boolean, nullable=False),
    Column("zone", Text, nullable=False),
    Column("incarnation", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("last_t_us", BigInteger),
)

turns = Table(
    "turns",
    metadata,
    Column("id", _row_number, primary_key=True, autoincrement=True),
    Column("conversation", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("span_start_us", BigInteger),
    Column("span_end_us", BigInteger),
    Column("model", Text, nullable=False),
    Column("asked_us", BigInteger, nullable=False),
    Index(None, "conversation", "id"),
    Index(None, "asked_us"),
    sqlite_autoincrement=True,
)

turn_cameras = Table(
    "turn_cameras",
    metadata,
    Column("turn_id", _row_number, ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("camera_id", Text, ForeignKey("cameras.id"), nullable=False),
    Index(None, "camera_id"),
)

deletions = Table(
    "deletions",
    metadata,
    Column("camera_id", Text, primary_key=True),
    Column("incarnation", Text, primary_key=True),
)
