from store.schema import metadata


def test_every_constraint_and_index_has_a_name_so_that_a_migration_can_change_it() -> None:
    for table in metadata.tables.values():
        assert all(constraint.name for constraint in table.constraints)
        assert all(index.name for index in table.indexes)
