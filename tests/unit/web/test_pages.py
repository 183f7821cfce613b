import re
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.async_api import async_playwright

from tests.support.web_fakes import World
from web.app import create_app
from web.pages import docs_folder


@pytest.fixture
async def http(world: World, tmp_path: Path) -> httpx2.AsyncClient:
    """A client of an application whose page is made up."""
    (tmp_path / "js").mkdir()
    (tmp_path / "index.html").write_text("<!doctype html><title>page</title>")
    (tmp_path / "js" / "main.js").write_text("export {};")
    (tmp_path.parent / "secret.txt").write_text("secret")
    app = create_app(world.ports, world.settings, page_folder=tmp_path)
    transport = httpx2.ASGITransport(app=app, client=("127.0.0.1", 1))
    return httpx2.AsyncClient(transport=transport, base_url="http://localhost")


async def test_the_page_and_its_files_are_served_and_asked_for_anew(http: httpx2.AsyncClient) -> None:
    page = await http.get("/")
    assert (page.status_code, "<title>page" in page.text) == (200, True)
    script = await http.get("/js/main.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.headers["cache-control"] == "private, no-cache"
    again = await http.get("/js/main.js", headers={"if-none-match": script.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/%2e%2e/secret.txt", "/js/..%2f..%2fsecret.txt", "/js", "/x", "/js/%00"]
)
async def test_nothing_outside_the_folder_is_served(http: httpx2.AsyncClient, path: str) -> None:
    reply = await http.get(path)
    assert (reply.status_code, reply.json()["code"]) == (404, "unknown_path")


async def test_the_documentation_needs_no_other_host(http: httpx2.AsyncClient) -> None:
    page = (await http.get("/docs")).text
    wanted = re.findall(r"(?:src|href)=\"([^\"]+)\"", page)
    assert len(wanted) == 4
    assert "<script>" not in page
    for path in wanted:
        assert path.startswith("/docs/")
        assert (await http.get(path)).status_code == 200, path
    assert "/openapi.json" in (await http.get("/docs/start.js")).text
    assert (await http.get("/docs/messages.json")).json()["subprotocol"] == "livelens.v1"
    assert (await http.get("/docs/other.js")).json()["code"] == "unknown_path"


def test_the_documentations_assets_are_installed_with_us() -> None:
    bundle = (docs_folder() / "swagger-ui-bundle.js").read_text()
    assert re.search(r'PACKAGE_VERSION:"5\.', bundle), "OpenAPI 3.1 needs Swagger UI 5"


async def test_problems_are_described_under_their_own_media_type(http: httpx2.AsyncClient) -> None:
    described = (await http.get("/openapi.json")).json()
    default = described["paths"]["/api/v1/cameras"]["get"]["responses"]["default"]
    schema = {"schema": {"$ref": "#/components/schemas/ProblemView"}}
    assert default["content"] == {"application/problem+json": schema}
    assert {tag for path in described["paths"].values() for op in path.values() for tag in op["tags"]} == {
        "Cameras",
        "Pictures and memory",
        "Questions",
        "OpenAI-compatible",
        "Operation",
    }
    chat = described["paths"]["/v1/models"]["get"]["responses"]["default"]
    assert chat["content"] == {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorView"}}}


@pytest.mark.browser
async def test_a_real_browser_shows_the_documentation_from_here_alone(address: str) -> None:
    complaints: list[str] = []
    hosts: set[str] = set()
    async with async_playwright() as tools:
        browser = await tools.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = await browser.new_page()
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
        await page.goto(f"http://{address}/docs")
        await page.get_by_text("/api/v1/ask").first.wait_for(timeout=15_000)
        await page.get_by_text("Register Camera").first.click()
        await page.get_by_text("NewCameraForm").first.wait_for(timeout=15_000)
        await browser.close()
    assert hosts - {""} == {address}
    assert complaints == []
