"""Trains the built-in model, stage by stage; each goes on where it was interrupted.

    python -m models.builtin.train tower --steps 1000
    python -m models.builtin.train clips --count 800
    python -m models.builtin.train language --plan 1:300,4:300,8:300,16:400
    python -m models.builtin.train all
    python -m models.builtin.train export --out var/builtin/model

State, clips and log lie in one folder. Give ``nice -n 19`` and one thread where other work must not suffer.
"""

import argparse
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from models.builtin.architecture import new_model, new_vision_tower
from models.builtin.change_heads import ChangeHeads
from models.builtin.clips import ClipBank, record_clip
from models.builtin.export import export
from models.builtin.keeping import StateFile
from models.builtin.optimizing import Optimizers
from models.builtin.seeds import CHECKING_CLIPS, TRAINING_CLIPS
from models.builtin.stage_language import Phase, Pieces, check, train_language
from models.builtin.stage_tower import CellHeads, train_tower
from models.builtin.vocabulary import build_tokenizer, special_ids
from models.text import ChatText
from sampler import Sampler

CHECKING_COUNT = 60


def tower_stage(folder: Path, *, steps: int, frames: int, seed: int) -> None:
    """Teach the tower what each cell shows."""
    torch.manual_seed(seed)
    tower, heads = new_vision_tower(), CellHeads()
    optimizers = Optimizers([tower, heads])
    kept = StateFile(folder / "tower.pt")
    start = 0
    if (state := kept.read()) is not None:
        tower.load_state_dict(state["tower"])
        heads.load_state_dict(state["heads"])
        optimizers.load_state_dict(state["optimizers"])
        start = state["step"]

    def save(step: int) -> None:
        parts = {"tower": tower, "heads": heads, "optimizers": optimizers}
        kept.write({"step": step, **{name: part.state_dict() for name, part in parts.items()}})

    train_tower(tower, heads, optimizers, start=start, steps=steps, frames=frames, save=save)


def clips_stage(folder: Path, *, count: int) -> None:
    """Record what the product's own sampler keeps of so many scenes, and of those to check with."""
    bank = ClipBank(folder / "clips")
    for first, many in ((CHECKING_CLIPS, CHECKING_COUNT), (TRAINING_CLIPS, count)):
        for seed in bank.missing(range(first, first + many)):
            bank.write(seed, record_clip(seed, Sampler()))


def new_pieces(seed: int) -> Pieces:
    """Return an untrained model with its tokenizer."""
    from tokenizers import Tokenizer

    torch.manual_seed(seed)
    tokenizer = build_tokenizer()
    model = new_model(tokenizer.get_vocab_size(), special_ids(tokenizer))
    chat = ChatText(tokenizer, Tokenizer.from_str)

    def offsets(text: str) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = tokenizer.encode(text, add_special_tokens=False).offsets
        return found

    return Pieces(model, CellHeads(), ChangeHeads(), chat.encoder, chat.tokens, offsets)


def language_stage(
    folder: Path, *, phases: list[Phase], tokens: int, check_rows: int, seed: int, begin_with: Path | None
) -> None:
    """Teach the whole model to answer; begins with an exported model, or else with the tower of the first stage.

    Clips that are recorded meanwhile are used from the next tenth step on.
    """
    pieces = new_pieces(seed)
    kept = StateFile(folder / "language.pt")
    state = kept.read()
    if state is None and begin_with is not None:
        load_exported(pieces, begin_with)
    elif state is None:
        towers = StateFile(folder / "tower.pt").read()
        if towers is None:
            raise SystemExit("train the tower first")
        pieces.model.model.visual.load_state_dict(towers["tower"])
        pieces.heads.load_state_dict(towers["heads"])
    optimizers = language_optimizers(pieces)
    start = 0
    if state is not None:
        load_pieces(pieces, state)
        optimizers.load_state_dict(state["optimizers"])
        start = state["step"]
    bank = ClipBank(folder / "clips")

    def save(step: int) -> None:
        parts = {**pieces.learning, "optimizers": optimizers}
        kept.write({"step": step, **{name: part.state_dict() for name, part in parts.items()}})

    train_language(
        pieces,
        optimizers,
        bank,
        phases,
        train_seeds=lambda: [seed for seed in bank.seeds() if TRAINING_CLIPS <= seed < CHECKING_CLIPS],
        check_seeds=range(CHECKING_CLIPS, CHECKING_CLIPS + CHECKING_COUNT),
        start=start,
        tokens=tokens,
        check_rows=check_rows,
        save=save,
    )


def language_optimizers(pieces: Pieces) -> Optimizers:
    """Return what changes the weights of the language stages."""
    return Optimizers(pieces.learning.values(), matrix_rate=2e-3, other_rate=1e-3)


def load_exported(pieces: Pieces, folder: Path) -> None:
    """Put the weights of an exported model into one of the same sizes and vocabulary; its heads are left as they are.

    Raises SystemExit where the vocabulary is another.
    """
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    if Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab() != build_tokenizer().get_vocab():
        raise SystemExit(f"the model in {folder} has another vocabulary")
    weights = load_file(folder / "model.safetensors")
    weights["lm_head.weight"] = weights["model.language_model.embed_tokens.weight"]
    pieces.model.load_state_dict(weights)


def load_pieces(pieces: Pieces, state: dict[str, Any]) -> None:
    """Put kept weights into a model and its heads."""
    for name, part in pieces.learning.items():
        part.load_state_dict(state[name])


def check_stage(folder: Path, *, check_rows: int, seed: int) -> None:
    """Measure the kept model on clips that it never learnt from."""
    pieces = _kept_pieces(folder, seed)
    for frames in (1, 4, 8, 16):
        check(
            pieces,
            ClipBank(folder / "clips"),
            range(CHECKING_CLIPS, CHECKING_CLIPS + CHECKING_COUNT),
            frames=frames,
            rows=check_rows,
        )


def _kept_pieces(folder: Path, seed: int) -> Pieces:
    state = StateFile(folder / "language.pt").read()
    if state is None:
        raise SystemExit("there is no trained model yet")
    pieces = new_pieces(seed)
    load_pieces(pieces, state)
    return pieces


class _FieldsFormatter(logging.Formatter):
    """Writes a record's extra fields behind its message."""

    _PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

    def format(self, record: logging.LogRecord) -> str:
        fields = [f"{name}={value}" for name, value in vars(record).items() if name not in self._PLAIN]
        return " ".join([super().format(record), *fields])


@contextmanager
def _logging_to(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path)
    handler.setFormatter(_FieldsFormatter("%(asctime)s %(message)s"))
    package = logging.getLogger("models.builtin")
    level = package.level
    package.setLevel(logging.INFO)
    package.addHandler(handler)
    try:
        yield
    finally:
        package.removeHandler(handler)
        package.setLevel(level)
        handler.close()


def _phases(plan: str) -> list[Phase]:
    return [
        Phase(int(frames), int(steps))
        for frames, _, steps in (part.partition(":") for part in plan.split(","))
    ]


def main(arguments: list[str] | None = None) -> None:
    """Run one stage."""
    parser = argparse.ArgumentParser(prog="python -m models.builtin.train", description=__doc__)
    parser.add_argument("stage", choices=["tower", "clips", "language", "check", "all", "export"])
    parser.add_argument("--folder", type=Path, default=Path("var/builtin"), help="state, clips and log")
    parser.add_argument("--steps", type=int, default=1_000, help="of the tower's stage")
    parser.add_argument("--frames", type=int, default=48, help="frames of a step of the tower's stage")
    parser.add_argument("--count", type=int, default=800, help="clips to record")
    parser.add_argument(
        "--plan", type=_phases, default="1:300,4:300,8:300,16:400", help="most frames:steps, ..."
    )
    parser.add_argument("--tokens", type=int, default=12_000, help="tokens of a step of the language stages")
    parser.add_argument(
        "--begin-with", type=Path, help="an exported model, where there is no state to go on from"
    )
    parser.add_argument("--check-rows", type=int, default=60, help="windows to measure with")
    parser.add_argument("--out", type=Path, default=Path("var/builtin/model"), help="where export writes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    with _logging_to(options.folder / f"{options.stage}.log"):
        _run(options)


def _run(options: argparse.Namespace) -> None:
    folder, seed = options.folder, options.seed
    wanted = ("tower", "clips", "language", "check") if options.stage == "all" else (options.stage,)
    if "tower" in wanted:
        tower_stage(folder, steps=options.steps, frames=options.frames, seed=seed)
    if "clips" in wanted:
        clips_stage(folder, count=options.count)
    if "language" in wanted:
        language_stage(
            folder,
            phases=options.plan,
            tokens=options.tokens,
            begin_with=options.begin_with,
            check_rows=options.check_rows,
            seed=seed,
        )
    if "check" in wanted:
        check_stage(folder, check_rows=options.check_rows, seed=seed)
    if "export" in wanted:
        export(_kept_pieces(folder, seed).model, build_tokenizer(), options.out)


if __name__ == "__main__":
    main()
