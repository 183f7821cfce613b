import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect, text

from store import migrate
from store.errors import StoreTooNew
from store.migrate import VERSION_TABLE, upgrade
from store.schema import metadata


@pytest.fixture
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.begin() as opened:
        yield opened
    engine.dispose()


def test_an_empty_database_gets_the_schema(connection: Connection) -> None:
    upgrade(connection, "here")
    assert {"cameras", "turns", "turn_cameras", "deletions", VERSION_TABLE} <= set(
        inspect(connection).get_table_names()
    )


def test_the_migrations_lead_to_the_tables_the_code_uses(connection: Connection) -> None:
    upgrade(connection, "here")
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    assert compare_metadata(context, metadata) == []


def test_a_database_that_is_up_to_date_is_left_alone(connection: Connection) -> None:
    upgrade(connection, "here")
    connection.execute(text("DROP TABLE turn_cameras"))  # would come back if a step ran again
    upgrade(connection, "here")
    assert "turn_cameras" not in inspect(connection).get_table_names()


def test_a_revision_from_the_future_is_refused(connection: Connection) -> None:
    upgrade(connection, "here")
    connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = 'next'"))
    with pytest.raises(StoreTooNew) as caught:
        upgrade(connection, "here")
    assert (caught.value.place, caught.value.revision) == ("here", "next")


def test_there_is_one_line_of_steps_from_nothing_to_the_newest() -> None:
    script = ScriptDirectory.from_config(migrate._config())
    assert len(script.get_heads()) == len(script.get_bases()) == 1


def test_every_step_can_be_undone(connection: Connection) -> None:
    from alembic import command

    upgrade(connection, "here")
    config = migrate._config()
    config.attributes["connection"] = connection
    command.downgrade(config, "base")
    assert set(inspect(connection).get_table_names()) <= {VERSION_TABLE, "sqlite_sequence"}


def test_a_step_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE turns (somebody_elses INTEGER)")
    other.close()
    engine = create_engine(f"sqlite:///{path}", isolation_level="AUTOCOMMIT")
    with engine.connect() as opened:
        opened.exec_driver_sql("BEGIN IMMEDIATE")
        with pytest.raises(Exception, match="turns already exists"):
            upgrade(opened, "here")
        opened.exec_driver_sql("ROLLBACK")
        assert inspect(opened).get_table_names() == ["turns"]
    engine.dispose()
