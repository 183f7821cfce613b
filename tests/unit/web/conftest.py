"""A world of stand-ins with one camera, and the application served for real around it."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from tests.support.web_fakes import World, serving
from web.settings import WebSettings


@pytest.fixture
def settings() -> WebSettings:
    return WebSettings()


@pytest.fixture
async def world(settings: WebSettings) -> World:
    made = World(settings)
    await made.add_camera()
    return made


@pytest.fixture
async def address(world: World) -> AsyncIterator[str]:
    """``127.0.0.1:<port>`` of a server around the world."""
    async with serving(world.app(), world.settings) as served:
        yield served


@pytest.fixture
async def http(address: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=f"http://{address}", timeout=10) as client:
        yield client
