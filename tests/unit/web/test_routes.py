import pytest

from web.access import Action
from web.routes import TABLE, WEBSOCKET, Found, find


def test_a_path_gives_its_route_and_its_values() -> None:
    found = find("GET", "/api/v1/cameras/gate/frames/17.jpg")
    assert isinstance(found, Found)
    assert found.values == {"camera_id": "gate", "t_us": "17"}
    assert found.route.action is Action.VIEW


def test_head_is_served_where_get_is_but_not_for_endless_replies() -> None:
    assert isinstance(find("HEAD", "/api/v1/cameras/gate/latest.jpg"), Found)
    assert find("HEAD", "/api/v1/cameras/gate/preview.mjpeg") == ("GET",)


def test_a_wrong_method_names_the_right_ones() -> None:
    assert find("PUT", "/api/v1/cameras/gate") == ("DELETE", "GET", "HEAD", "PATCH")
    assert find("GET", "/api/v1/ask") == ("POST",)


def test_only_get_reaches_files_by_any_other_name() -> None:
    found = find("GET", "/css/base.css")
    assert isinstance(found, Found)
    assert found.route.fallback
    assert find("POST", "/css/base.css") == ()


def test_a_websocket_is_no_page() -> None:
    assert isinstance(find(WEBSOCKET, "/api/v1/live"), Found)
    assert find(WEBSOCKET, "/api/v1/cameras") == ("GET", "HEAD", "POST")
    assert find(WEBSOCKET, "/other") == ()


@pytest.mark.parametrize(
    "path", ["/api/v1/cameras/a/b/latest.jpg", "/API/v1/cameras", "", "/api/v1/cameras/"]
)
def test_a_path_fits_as_a_whole_or_not_at_all(path: str) -> None:
    found = find("GET", path)
    assert found == () or (isinstance(found, Found) and found.route.fallback)


def test_no_row_stands_twice() -> None:
    assert len({(route.method, route.path) for route in TABLE}) == len(TABLE)
