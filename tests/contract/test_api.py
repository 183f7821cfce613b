"""docs/api.md against the real replies: the same fields, the same messages, nothing more and nothing less."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import httpx2
import pytest
from pydantic import BaseModel

from core.records import (
    Colour,
    Direction,
    Gap,
    GapReason,
    ObjectTrack,
    SceneChange,
    SceneChangeKind,
    Side,
    StaticSpan,
)
from tests.support.web_fakes import GATE, World
from tests.support.windows import stored
from web import chat_wire, rest, wire
from web.routes import API, OPENAI, TABLE, WEBSOCKET

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()
EXAMPLES = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


@pytest.fixture
async def http() -> httpx2.AsyncClient:
    """A client of the edges over a window that holds one of everything."""
    world = World()
    camera = await world.add_camera()
    now_us = world.clock.now_us()
    records = (
        Gap(now_us - 9, None, GapReason.UNREACHABLE),
        StaticSpan(now_us - 8, now_us - 7),
        ObjectTrack(1, now_us - 6, now_us - 5, False, Side.LEFT, None, Direction.LEFT, 0.1, Colour.RED, ()),
        SceneChange(now_us - 4, SceneChangeKind.LIGHT_ON),
    )
    for record in records:
        await world.window.put_record(GATE, record, incarnation=camera.incarnation)
    await world.window.put(stored(now_us - 3), incarnation=camera.incarnation)
    transport = httpx2.ASGITransport(app=world.app(), client=("127.0.0.1", 1))
    return httpx2.AsyncClient(transport=transport, base_url=f"http://localhost{API}")


def shape(value: Any) -> Any:
    """Return the names of all fields, however deep; of a list those of its first element."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items() if name not in ("skipped", "kept")}
    return [shape(value[0])] if isinstance(value, list) and value else None


async def test_a_camera_looks_as_documented(http: httpx2.AsyncClient) -> None:
    assert shape((await http.get("/cameras/gate")).json()) == shape(EXAMPLES[0])


async def test_a_timeline_looks_as_documented(http: httpx2.AsyncClient) -> None:
    assert shape((await http.get("/cameras/gate/timeline")).json()) == shape(EXAMPLES[1])


def words(cell: str) -> set[str]:
    """Return the field names in a table's cell, without those in braces."""
    return set(re.findall(r"\w+", re.sub(r"[{\[(][^|]*?[})]\]?", "", cell))) - {"as", "in", "the"}


def rows(heading: str) -> dict[str, set[str]]:
    """Return the rows of the table after ``heading``: message type and its fields."""
    table = PAGE[PAGE.index(heading) :].split("\n\n")[1]
    found = re.findall(r"^\| `([\w.]+)` \| (.+) \|$", table, re.MULTILINE)
    return {kind: words(re.sub(r"\(.*?\)", "", fields)) for kind, fields in found}


def fields(model: type[BaseModel], *, apart: set[str]) -> set[str]:
    return {info.alias or name for name, info in model.model_fields.items()} - apart


def test_the_messages_of_clients_are_those_documented() -> None:
    models = {model.model_fields["type"].annotation: model for model in get_args(wire.ClientMessage)}
    known = {get_args(kind)[0]: fields(model, apart={"type"}) for kind, model in models.items()}
    assert rows("From the client:") == known


def test_the_messages_of_the_server_are_those_documented() -> None:
    known = {
        model.model_fields["type"].default: fields(model, apart={"type", "seq"})
        for model in get_args(wire.ServerMessage)
    }
    documented = {kind: names - {"seq"} for kind, names in rows("From the server, each with `seq`").items()}
    assert documented == known


def test_every_rest_call_is_documented() -> None:
    calls = set(re.findall(r"^\| `([A-Z]+) (/[^`?]*)`", PAGE, re.MULTILINE))
    calls |= {("POST", "/ask")} if "`POST /api/v1/ask`" in PAGE else set()
    served = {
        (route.method, re.sub(r"\{camera_id\}|\{model:path\}", "{id}", route.path.removeprefix(API)))
        for route in TABLE
        if route.method != WEBSOCKET
        and (route.path.startswith((API, OPENAI)) or route.path in ("/healthz", "/readyz", "/metrics"))
    }
    assert calls == served


def test_the_example_of_a_dialogue_is_one_that_is_taken() -> None:
    form = chat_wire.ChatForm.model_validate(EXAMPLES[2])
    assert [type(part) for part in form.messages[0].content] == [chat_wire.TextForm, chat_wire.ImageForm]


def test_an_error_of_openais_shape_has_the_documented_fields() -> None:
    section = PAGE[PAGE.index("## Still-image chat") : PAGE.index("## Operating")]
    assert all(f"`{name}`" in section for name in chat_wire.ErrorDetailView.model_fields)


def test_every_field_of_a_dialogue_is_documented() -> None:
    section = PAGE[PAGE.index("## Still-image chat") : PAGE.index("## Operating")]
    assert [name for name in chat_wire.ChatForm.model_fields if f"`{name}`" not in section] == []


def test_a_problem_has_the_documented_fields() -> None:
    sentence = PAGE[: PAGE.index("## Cameras")]
    assert all(name in sentence for name in rest.ProblemView.model_fields)
