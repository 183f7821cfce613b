from dataclasses import MISSING, fields

from tests.support.web_fakes import World
from web.ports import CameraPatch, Ports


def test_a_patch_changes_nothing_by_itself() -> None:
    assert {getattr(CameraPatch(), field.name) for field in fields(CameraPatch)} == {None}


async def test_the_stand_ins_fill_every_port(world: World) -> None:
    assert all(
        getattr(world.ports, field.name) is not None for field in fields(Ports) if field.default is MISSING
    )
