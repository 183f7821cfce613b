from pathlib import Path

import pytest

from livelens.addresses import typed_address


@pytest.mark.parametrize("text", ["rtsp://10.0.0.5/main", "file:/a/b.mp4", "scene:7", "Scene:7"])
def test_an_address_with_a_scheme_stays_as_it_is(text: str) -> None:
    assert typed_address(text) == text


def test_anything_else_is_a_file_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert typed_address("a clip.mp4") == (tmp_path / "a clip.mp4").as_uri()
    assert typed_address("./scene:7") == (tmp_path / "scene:7").as_uri()
