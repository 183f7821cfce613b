from alembic import command
from sqlalchemy import create_engine, inspect

from store import migrate
from store.migrate import VERSION_TABLE


def test_steps_run_on_the_given_connection_and_in_its_transaction() -> None:
    engine = create_engine("sqlite://", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        config = migrate._config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        assert VERSION_TABLE in inspect(connection).get_table_names()
        connection.exec_driver_sql("ROLLBACK")
        assert inspect(connection).get_table_names() == []
    engine.dispose()
