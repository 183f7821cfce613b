"""Lets torchvision's Python code be imported beside a CPU build of torch, in every process of this environment.

Its wheel carries operators for GPU builds, which do not load there; at import it registers gradients and fakes for
two of them and fails because nobody declared them. Declaring them first is enough: nothing that vLLM does with
pictures calls them. Only for environments installed from this folder; torch is imported when torchvision is, not
before.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType


class _DeclareFirst(MetaPathFinder):
    def find_spec(
        self, fullname: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None, /
    ) -> None:
        if fullname == "torchvision":
            sys.meta_path.remove(self)
            _declare()


def _declare() -> None:
    import torch

    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _kept.append(library)


_kept: list[object] = []  # a library that is collected takes its declarations along
sys.meta_path.insert(0, _DeclareFirst())
