import json
from pathlib import Path

import pytest

from models.builtin.scenes import scene_truth
from models.builtin.truth import SCHEMA_FILE, BadTruth, read_truth, truth_from_json, write_truth
from tests.support import foreign_scenes
from tests.support.toy_scenes import SECOND, scene, thing


def test_an_object_moves_evenly_between_the_knots_of_its_path_and_stands_outside_them() -> None:
    moving = thing(1, at=(0.2, 0.5), to=(0.6, 0.5), moves_s=(1, 3))
    assert moving.spot(0) == (0.2, 0.5)
    assert moving.spot(2 * SECOND) == pytest.approx((0.4, 0.5))
    assert moving.spot(9 * SECOND) == (0.6, 0.5)


def test_an_object_is_there_from_its_appearance_until_just_before_it_leaves() -> None:
    guest = thing(1, comes_s=1, leaves_s=2)
    assert [guest.present(t * SECOND) for t in (0, 1, 2)] == [False, True, False]


def test_an_object_half_over_the_border_is_half_visible() -> None:
    truth = scene(thing(1, at=(0.0, 0.5)), thing(2, at=(0.5, 0.5)), thing(3, at=(0.5, 1.5)))
    assert [truth.visible_share(t, 0) for t in truth.objects] == pytest.approx([0.5, 1.0, 0.0])


def test_a_truth_survives_being_written_and_read(tmp_path: Path) -> None:
    truth = scene_truth(3, 20 * SECOND)
    write_truth(tmp_path / "t.json", truth)
    assert read_truth(tmp_path / "t.json").to_json() == truth.to_json()


def test_what_is_published_has_every_field_that_the_schema_requires() -> None:
    schema = json.loads(SCHEMA_FILE.read_text())
    written = scene_truth(3, 20 * SECOND).to_json()
    assert set(schema["required"]) <= set(written)
    wanted = schema["properties"]["objects"]["items"]
    assert written["objects"]
    for described in written["objects"]:
        assert set(described) == set(wanted["required"])
        assert described["colour"] in wanted["properties"]["colour"]["enum"]
        assert described["shape"] in wanted["properties"]["shape"]["enum"]
    assert written["schema"] == schema["properties"]["schema"]["const"]


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "something/9"},
        {"picture": {}},
        {"objects": [{"id": 1}]},
        {"objects": [{**scene(thing(1)).to_json()["objects"][0], "path": []}]},
        {"objects": [{**scene(thing(1)).to_json()["objects"][0], "colour": "beige"}]},
    ],
)
def test_a_document_that_says_something_else_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(BadTruth):
        truth_from_json({**scene(thing(1)).to_json(), **change})


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("{")
    with pytest.raises(BadTruth):
        read_truth(tmp_path / "t.json")


def test_another_programs_truth_is_read_and_its_pictures_show_what_it_says() -> None:
    shown = 0
    for seed in range(8):
        described = foreign_scenes.invent(seed)
        truth = truth_from_json(described)
        assert truth.to_json()["objects"] == described["objects"]
        for t_us, picture in zip(
            (0, 9 * SECOND), foreign_scenes.draw(described, [0, 9 * SECOND]), strict=True
        ):
            for visible in (t for t in truth.objects if truth.visible_share(t, t_us) > 0.99):
                x, y = visible.spot(t_us)
                middle = picture[int(y * 360), int(x * 640)].astype(int)
                assert abs(middle - foreign_scenes.COLOURS[visible.colour.value]).max() < 30
                shown += 1
    assert shown > 5
