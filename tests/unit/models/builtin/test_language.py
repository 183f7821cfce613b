"""Packed training computes what serving computes: compared with the library's own model, question by question."""

from random import Random

import numpy as np
import pytest
import torch

from core.ids import CameraId, make_frame_ref
from models.builtin.language import answer_loss, answers_right, batch_of, quick_arithmetic, read
from models.builtin.packing import NOT_WANTED, pack
from models.builtin.questions import draw_pack
from models.builtin.tower import Seen, patches_of, see
from models.builtin.train import new_pieces
from models.chat import SYSTEM_TEXT, Cells, render
from models.prompt import FramePart, Prompt, TextPart
from tests.support.toy_scenes import thing, watched

pytestmark = pytest.mark.torch
CELLS = Cells(2, 3)


def test_each_packed_answer_scores_as_the_librarys_model_scores_it_alone() -> None:
    pieces = new_pieces(0)
    pieces.model.eval()
    seen_scene = watched(thing(1, to=(0.9, 0.5)), thing(2, "blue", "square", at=(0.2, 0.2)), frames_s=(0, 2))
    parts = (
        *(FramePart(m.label, make_frame_ref(CameraId("toy"), m.t_us)) for m in seen_scene.moments),
        TextPart("(It is now 14:03:03.)"),
    )
    questions = draw_pack(Random(1), seen_scene, 4)
    row = pack(
        parts, [(question,) for question in questions], [CELLS] * 2, text=pieces.text, tokens=pieces.tokens
    )
    short = pack(parts[:1], [questions[:1]], [CELLS], text=pieces.text, tokens=pieces.tokens)
    pixels = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (3, 64, 96, 3), dtype=np.uint8))
    batch = batch_of([row, short])
    with torch.no_grad():
        tokens = see(pieces.model.model.visual, patches_of(pixels, CELLS), CELLS)
        rows = [
            Seen(tokens.pooled[:2], (tokens.deep[0][:2],)),
            Seen(tokens.pooled[2:], (tokens.deep[0][2:],)),
        ]
        scores, wanted, middle, _ = read(pieces.model, batch, rows)
        at = 0
        for question in questions:
            prompt = Prompt(SYSTEM_TEXT, parts, question.text, question.history)
            start = render(prompt, [CELLS] * 2, text=pieces.text, tokens=pieces.tokens).tokens
            alone = render(
                prompt, [CELLS] * 2, text=pieces.text, tokens=pieces.tokens, answer=question.answer
            )
            ids = torch.from_numpy(alone.ids)[None]
            theirs = pieces.model(
                input_ids=ids,
                mm_token_type_ids=(ids == pieces.tokens.image_pad).int(),
                pixel_values=_doubled(patches_of(pixels[:2], CELLS)),
                image_grid_thw=torch.tensor([[1, 4, 6]] * 2),
            ).logits[0]
            count = alone.tokens - 1 - start
            assert torch.allclose(scores[at : at + count], theirs[start - 1 : start - 1 + count], atol=2e-4)
            assert wanted[at : at + count].tolist() == alone.ids[start : start + count].tolist()
            at += count
    assert answer_loss(scores, wanted).item() > 0
    assert middle.cells.shape == (3 * 6, 192)
    assert middle.frames.shape == (3, 192)
    assert middle.stems.shape == (2, 192)


def test_an_answer_is_right_when_every_token_of_it_is() -> None:
    pieces = new_pieces(0)
    scene = watched(thing(1), frames_s=(0,))
    parts = (FramePart("[14:03:00]", make_frame_ref(CameraId("toy"), 0)),)
    row = pack(
        parts,
        [draw_pack(Random(2), scene, 3)[:2], draw_pack(Random(2), scene, 3)[2:]],
        [CELLS],
        text=pieces.text,
        tokens=pieces.tokens,
    )
    batch = batch_of([row])
    wanted = batch.wanted[batch.wanted != NOT_WANTED]
    scores = torch.nn.functional.one_hot(wanted, 1_500).float()
    assert answers_right(batch, scores) == {(0, 1): True, (0, 2): True, (0, 3): True}
    scores[0] = -scores[0]
    assert answers_right(batch, scores)[0, 1] is False


def test_quick_arithmetic_can_be_entered() -> None:
    with quick_arithmetic():
        assert torch.ones(2, 2).matmul(torch.ones(2, 2)).float().sum() == 8


def _doubled(patches: torch.Tensor) -> torch.Tensor:
    """Return patches with a single picture's repeat in time, as serving hands them over."""
    channels = patches.flatten(0, 1).view(-1, 3, 1, 256)
    return channels.expand(-1, 3, 2, 256).reshape(-1, 3 * 2 * 256)
