"""Bring a database to the schema this livelens knows, or say why not."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from store.errors import StoreTooNew

_MIGRATIONS = Path(__file__).parent / "migrations"
VERSION_TABLE = "livelens_schema"  # a name of our own: a PostgreSQL database may have other tenants
_ONE_AT_A_TIME = 0x11FE1E25  # PostgreSQL's advisory lock for migrations; any number nobody else uses


def upgrade(connection: Connection, place: str) -> None:
    """Run the missing migrations inside the open transaction of ``connection``.

    Two processes that start together do it one after the other, and the second one finds nothing to do.

    Raises:
        StoreTooNew: the database has a revision that this livelens does not know; nothing was changed.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _ONE_AT_A_TIME})
    config = _config()
    script = ScriptDirectory.from_config(config)
    known = {revision.revision for revision in script.walk_revisions()}
    present = MigrationContext.configure(
        connection, opts={"version_table": VERSION_TABLE}
    ).get_current_heads()
    for revision in present:
        if revision not in known:
            raise StoreTooNew(place, revision)
    if set(present) != set(script.get_heads()):
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    return config
