from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livelens.up_log import LINE_BYTES, Lines, PartLog


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_however_the_bytes_arrive_the_lines_are_the_same(chunks: list[bytes]) -> None:
    in_pieces, at_once = Lines(), Lines()
    found = [line for chunk in chunks for line in in_pieces.push(chunk)] + in_pieces.end()
    assert found == at_once.push(b"".join(chunks)) + at_once.end()


def test_colours_and_progress_bars_become_plain_lines() -> None:
    assert Lines().push(b"\x1b[32mINFO\x1b[0m ready\n 10%|#\r 20%|##\r\n\n") == [
        "INFO ready",
        " 10%|#",
        " 20%|##",
    ]


def test_a_line_that_never_ends_is_cut() -> None:
    lines = Lines()
    assert lines.push(b"x" * (LINE_BYTES * 2 + 5)) == ["x" * LINE_BYTES] * 2
    assert lines.end() == ["xxxxx"]


def test_lines_go_to_the_file_the_listener_and_the_newest_few(tmp_path: Path) -> None:
    heard: list[str] = []
    log = PartLog(tmp_path / "redis.log", keep_lines=2, listener=heard.append)
    log.write(["a", "b", "c"])
    assert log.newest() == ("b", "c")
    assert heard == ["a", "b", "c"]
    assert log.path.read_text() == "a\nb\nc\n"
    assert log.path.stat().st_mode & 0o077 == 0
    log.forget()
    assert log.newest() == ()


def test_a_full_file_begins_anew_and_the_old_one_is_kept_once(tmp_path: Path) -> None:
    log = PartLog(tmp_path / "x.log", limit_bytes=10)
    for text in ("aaaa", "bbbb", "cccc", "dddd", "eeee"):
        log.write([text])
    assert log.path.read_text() == "eeee\n"
    assert (tmp_path / "x.log.1").read_text() == "cccc\ndddd\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.log", "x.log.1"]


def test_a_file_from_before_is_counted(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text("123456789\n")
    log = PartLog(tmp_path / "x.log", limit_bytes=10)
    log.write(["new"])
    assert log.path.read_text() == "new\n"


def test_a_disk_that_fails_ends_the_file_and_nothing_else(tmp_path: Path) -> None:
    log = PartLog(tmp_path / "gone" / "x.log")
    log.write(["a"])
    log.write(["b"])
    assert log.newest() == ("a", "b")
    assert log.broken == "No such file or directory"


@pytest.mark.parametrize("lines", [[], [""]])
def test_nothing_is_written_for_nothing(tmp_path: Path, lines: list[str]) -> None:
    log = PartLog(tmp_path / "x.log")
    log.write([line for line in lines if line])
    assert not log.path.exists()
