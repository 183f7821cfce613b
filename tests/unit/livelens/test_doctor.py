import importlib.util
import shutil
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from featcache.redis_settings import RedisSettings
from ingest import IngestSettings
from livelens import doctor
from livelens.doctor import Finding, Verdict, examine, worst
from livelens.settings import Settings
from tests.support.redis_server import shared_server
from tests.support.scripted_openai import Reply
from tests.support.scripted_vllm import ScriptedVllm
from tests.support.tiny_model import tiny_model_folder

__all__ = ["tiny_model_folder"]


def test_this_installation_is_in_order(tmp_path: Path) -> None:
    findings = list(examine(Settings(data_dir=tmp_path)))
    assert [f for f in findings if f.verdict is Verdict.BAD] == []
    assert worst(findings) == 0
    assert {f.what for f in findings} >= {"livelens", "av", "data folder", "torch", "extras", "answers"}


def test_two_owners_of_one_import_name_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        doctor,
        "packages_distributions",
        lambda: {"cv2": ["opencv-python", "opencv-python-headless"], "coredis": ["coredis"]},
    )
    bad = [f for f in examine(Settings(data_dir=tmp_path)) if f.verdict is Verdict.BAD]
    assert [f.what for f in bad] == ["cv2", "redis client"]
    assert "opencv-python and opencv-python-headless" in bad[0].text


def test_a_foreign_owner_of_one_of_our_names_is_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = importlib.util.find_spec

    def shadowed(name: str) -> ModuleSpec | None:
        return (
            ModuleSpec("core", None, origin="/elsewhere/core/__init__.py") if name == "core" else real(name)
        )

    monkeypatch.setattr(importlib.util, "find_spec", shadowed)
    bad = [f for f in examine(Settings(data_dir=tmp_path)) if f.verdict is Verdict.BAD]
    assert [f.what for f in bad] == ["package core"]


def test_a_data_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    findings = list(examine(Settings(data_dir=tmp_path / "file" / "below")))
    assert [f.what for f in findings if f.verdict is Verdict.BAD] == ["data folder"]


def test_only_bad_findings_make_the_command_fail() -> None:
    assert worst([Finding("a", Verdict.NOTE, ""), Finding("b", Verdict.GOOD, "")]) == 0
    assert worst([Finding("a", Verdict.NOTE, ""), Finding("b", Verdict.BAD, "")]) == 1


def answers(settings: Settings) -> tuple[Verdict, str]:
    """Return what is found of who would answer."""
    (found,) = (f for f in examine(settings) if f.what == "answers")
    return found.verdict, found.text


def test_who_would_answer_is_told(tmp_path: Path) -> None:
    told = {
        "default": answers(Settings(data_dir=tmp_path)),
        "builtin": answers(Settings(data_dir=tmp_path, model="builtin")),
        "none": answers(Settings(data_dir=tmp_path, model="none")),
        "name": answers(Settings(data_dir=tmp_path, model="owner/model")),
        "url": answers(Settings(data_dir=tmp_path, model_url="http://127.0.0.1:1234")),
        "pictures to vLLM": answers(Settings(data_dir=tmp_path, decoder_url="http://127.0.0.1:5678")),
        "frames to vLLM": answers(
            Settings(
                data_dir=tmp_path,
                model="owner/model",
                decoder_url="http://127.0.0.1:5678",
                redis=RedisSettings(url="redis://127.0.0.1:1/0"),
            )
        ),
    }
    assert {verdict for verdict, _ in told.values()} == {Verdict.GOOD}
    assert "built-in model" in told["builtin"][1]
    assert told["default"][1] == told["none"][1] == "measured (model = none)"
    assert "owner/model" in told["name"][1]
    assert "http://127.0.0.1:1234" in told["url"][1]
    assert told["pictures to vLLM"][1] == "by vLLM at http://127.0.0.1:5678, from pictures"
    assert told["frames to vLLM"][1] == "by owner/model, in vLLM at http://127.0.0.1:5678"


@pytest.mark.torch
def test_a_vllm_that_renders_questions_in_another_way_is_told(
    tiny_model_folder: Path, tmp_path: Path
) -> None:
    def told(url: str) -> Finding:
        settings = Settings(
            model=str(tiny_model_folder), decoder_url=url, redis=RedisSettings(url="redis://127.0.0.1:1/0")
        )
        (found,) = doctor._rendering(settings)
        return found

    other = shutil.copytree(tiny_model_folder, tmp_path / "other")
    template = other / "chat_template.jinja"
    template.write_text("Be kind. " + template.read_text())
    with (
        ScriptedVllm(tiny_model_folder, Reply.of("x")) as same,
        ScriptedVllm(other, Reply.of("x")) as differs,
    ):
        assert told(same.url).verdict is Verdict.GOOD
        found = told(differs.url)
        assert (found.verdict, "Be kind" in found.text) == (Verdict.BAD, True)
    assert told("http://127.0.0.1:9").verdict is Verdict.NOTE


def test_without_the_extra_a_named_model_is_told_to_fail(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in doctor.LOCAL_MODEL_NEEDS else real(name)
    )
    for name in ("builtin", "owner/model"):
        assert answers(Settings(data_dir=tmp_path, model=name))[0] is Verdict.BAD
    assert answers(Settings(data_dir=tmp_path, model="none"))[0] is Verdict.GOOD


def test_the_reach_of_the_window_is_told_and_a_redis_is_looked_at(tmp_path: Path) -> None:
    def told(**redis: object) -> dict[str, Finding]:
        settings = Settings(data_dir=tmp_path, redis=RedisSettings(**redis))  # type: ignore[arg-type]
        return {f.what: f for f in doctor._window(settings)}

    plain = told()
    assert "Redis" not in plain
    assert plain["window"].text == "60 minutes, 1024 MiB in memory"
    there = told(url=shared_server().url)
    assert there["Redis"].verdict is Verdict.GOOD
    assert there["window"].text.endswith("the newest 1024 MiB in Redis too")
    away = told(url="redis://me:hush@127.0.0.1:1/0")["Redis"]
    assert (away.verdict, away.text) == (
        Verdict.BAD,
        "at redis://127.0.0.1:1/0: Redis cannot be reached; the pool would serve without it",
    )


def test_without_ingest_the_window_is_what_others_publish(tmp_path: Path) -> None:
    def told(url: str) -> dict[str, tuple[Verdict, str]]:
        settings = Settings(
            data_dir=tmp_path, redis=RedisSettings(url=url), ingest=IngestSettings(enabled=False)
        )
        return {f.what: (f.verdict, f.text) for f in doctor._window(settings)}

    verdict, text = told("")["window"]
    assert (verdict, text.startswith("redis.url is empty")) == (Verdict.BAD, True)
    away = told("redis://127.0.0.1:1/0")
    assert away["window"] == (Verdict.GOOD, "what others publish to Redis (ingest.enabled = false)")
    assert away["Redis"][1].endswith("; nothing would be answered")
