"""Loaded by alembic: runs the steps on the connection, and in the transaction, that ``store.migrate`` opened."""

from alembic import context

from store.migrate import VERSION_TABLE
from store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,  # SQLite changes tables by copying them
)
context.run_migrations()
