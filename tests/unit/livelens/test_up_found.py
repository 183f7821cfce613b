from pathlib import Path

import pytest

from livelens import up_found
from livelens.up_found import Missing, find_redis_server, find_router, missing_libraries, redis_version


def program(folder: Path, name: str, says: str) -> str:
    file = folder / name
    file.write_text(f"#!/bin/sh\necho '{says}'\n")
    file.chmod(0o755)
    return str(file)


def test_the_redis_of_this_machine_is_found() -> None:
    found = find_redis_server()
    assert isinstance(found, Path)
    assert found.name == "redis-server"


def test_without_redis_people_are_told_how_to_get_one() -> None:
    found = find_redis_server(lambda _: None)
    assert isinstance(found, Missing)
    assert "apt-get install redis-server" in found.line()
    assert "--redis redis://" in found.line()


def test_an_old_redis_is_not_taken(tmp_path: Path) -> None:
    old = program(tmp_path, "redis-server", "Redis server v=6.2.14 sha=0 malloc=jemalloc-5.2.1 bits=64")
    found = find_redis_server(lambda _: old)
    assert isinstance(found, Missing)
    assert "version 7 or newer is needed" in found.why


def test_a_program_that_does_not_run_is_not_taken(tmp_path: Path) -> None:
    broken = tmp_path / "redis-server"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    found = find_redis_server(lambda _: str(broken))
    assert isinstance(found, Missing)
    assert "it does not run" in found.why


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64", 7),
        ("Valkey server v=8.1.0 sha=00000000:0", 8),
        ("something else", None),
    ],
)
def test_versions_are_read(said: str, number: int | None) -> None:
    assert redis_version(said) == number


def test_the_router_beside_the_folder_wins_over_the_path(tmp_path: Path) -> None:
    beside = Path(program(tmp_path, "vllm-router", ""))
    assert find_router(lambda _: "/usr/bin/vllm-router", beside=beside) == beside
    assert find_router(lambda _: "/opt/vllm-router", beside=tmp_path / "no") == Path("/opt/vllm-router")


def test_without_a_router_people_are_told_how_to_get_one(tmp_path: Path) -> None:
    found = find_router(lambda _: None, beside=tmp_path / "no")
    assert isinstance(found, Missing)
    assert "pip install vllm-router" in found.how


def test_libraries_that_are_there_are_not_missing() -> None:
    assert missing_libraries(encodes=True) == ()


def test_libraries_that_are_not_there_are_named_with_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up_found, "find_spec", lambda _: None)
    assert [lack.how for lack in missing_libraries(encodes=False)] == ["pip install 'livelens[redis]'"]
    encoder = missing_libraries(encodes=True)[1]
    assert encoder.how == "pip install 'livelens[encoder]'"
    assert "torch" in encoder.why
