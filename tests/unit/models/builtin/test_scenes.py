from itertools import islice
from pathlib import Path

import av
import numpy as np
import pytest

from models.builtin.scenes import (
    CRF_RANGE,
    LiveScene,
    LiveVideo,
    draw,
    frame_times,
    kind_of,
    main,
    scene_truth,
    through_h264,
)
from models.builtin.things import PICTURE_SIZES, Ground
from models.builtin.truth import read_truth
from models.builtin.world import SECOND_US


def test_seeds_give_every_size_ground_and_strength_of_compression() -> None:
    kinds = [kind_of(seed) for seed in range(300)]
    assert {(kind.width_px, kind.height_px) for kind in kinds} == set(PICTURE_SIZES)
    assert {kind.ground for kind in kinds} == set(Ground)
    assert (min(kind.crf for kind in kinds), max(kind.crf for kind in kinds)) == CRF_RANGE


def test_frames_come_at_an_even_rate_within_the_duration() -> None:
    assert list(frame_times(SECOND_US, 4)) == [0, 250_000, 500_000, 750_000]


def test_each_frame_comes_back_from_h264_much_as_it_was_drawn() -> None:
    kind = kind_of(3, size=(320, 180))
    drawn = list(draw(3, scene_truth(3, SECOND_US, kind=kind), frame_times(SECOND_US, 5)))
    back = list(through_h264(drawn, fps=5, crf=30))
    assert [t_us for t_us, _ in back] == [frame.t_us for frame in drawn]
    for (_, picture), frame in zip(back, drawn, strict=True):
        assert picture.luma().shape == (180, 320)
        away = np.abs(picture.rgb(320, 180).astype(int) - frame.pixels)
        assert away.mean() < 12


def test_the_command_writes_a_clip_and_its_truth_and_the_same_ones_again(tmp_path: Path) -> None:
    for name in ("a", "b"):
        clip, truth = tmp_path / f"{name}.mp4", tmp_path / f"{name}.json"
        main(["--seed", "7", "--seconds", "2", "--fps", "5", "--out", str(clip), "--truth", str(truth)])
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    assert read_truth(tmp_path / "a.json") == read_truth(tmp_path / "b.json")
    assert read_truth(tmp_path / "a.json").duration_us == 2 * SECOND_US


def test_a_size_can_be_chosen(tmp_path: Path) -> None:
    main(["--seconds", "1", "--fps", "2", "--size", "360x640", "--out", str(tmp_path / "c.mp4")])
    with pytest.raises(SystemExit):
        main(["--size", "1x1", "--out", str(tmp_path / "d.mp4")])


def test_the_truth_can_be_had_without_its_clip_but_not_nothing(tmp_path: Path) -> None:
    main(["--seconds", "60", "--truth", str(tmp_path / "t.json")])
    assert read_truth(tmp_path / "t.json").duration_us == 60 * SECOND_US
    with pytest.raises(SystemExit):
        main(["--seconds", "1"])


def test_frames_of_a_live_scene_may_be_left_out() -> None:
    kind = kind_of(11, size=(320, 180))
    whole, sparse = LiveScene(11, fps=2, kind=kind), LiveScene(11, fps=2, kind=kind)
    numbers = {0, 1, 7, 8, 30, 31}
    for frame in islice(iter(whole), 32):
        number = frame.t_us // 500_000
        if number in numbers:
            assert np.array_equal(frame.pixels, sparse.frame(number).pixels)


def test_live_video_is_one_packet_a_frame_with_a_keyframe_every_two_seconds() -> None:
    video = LiveVideo(3, fps=5)
    decoder = av.codec.CodecContext.create("h264", "r")
    decoder.thread_count = 1
    frames = [
        frame for number in (*range(12), 40) for frame in decoder.decode(av.Packet(video.packet(number)))
    ]
    frames += decoder.decode(None)
    assert [number for number, frame in enumerate(frames) if frame.key_frame] == [0, 10]
    assert len(frames) == 13
    assert (frames[0].width, frames[0].height) == (video.kind.width_px, video.kind.height_px)


def test_a_live_scene_goes_on_and_its_truth_tells_what_its_frames_show() -> None:
    live = LiveScene(11, fps=2, kind=kind_of(11, size=(320, 180)))
    frames = list(islice(iter(live), 41))
    assert [frame.t_us for frame in frames[:3]] == [0, 500_000, 1_000_000]
    now_us = frames[-1].t_us
    alone = next(draw(11, live.truth(now_us), [now_us]))
    assert np.array_equal(frames[-1].pixels, alone.pixels)
