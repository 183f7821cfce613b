import ast
import re
from importlib import import_module
from pathlib import Path

import web.errors
from core.errors import ServiceError, all_codes
from web.problems import status_of

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ("core", "ingest", "sampler", "featcache", "models", "store", "events", "qa", "web", "livelens")
ROW = re.compile(r"^\| `(\w+)` \| (\d{3}|-) \| (yes|no) \| (.+) \|$", re.MULTILINE)


def written() -> dict[str, str]:
    """Return every code that a class of ours declares, with its file; read from the source, wherever it is."""
    found: dict[str, str] = {}
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            classes = [
                node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ClassDef)
            ]
            for line in (line for cls in classes for line in cls.body):
                match line:
                    case ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant(value=str(code))):
                        found[code] = str(file.relative_to(ROOT))
    return found


def loaded() -> dict[str, type[ServiceError]]:
    """Return the errors of our packages' ``errors`` modules by code; those of tests are left out."""
    import_module("core.ids")
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("errors.py")):
            import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
    return {
        code: error for code, error in all_codes().items() if error.__module__.partition(".")[0] in PACKAGES
    }


def documented() -> dict[str, tuple[str, str]]:
    rows = ROW.findall((ROOT / "docs" / "errors.md").read_text())
    return {code: (status, retry) for code, status, retry, _ in rows}


def test_every_code_is_documented_and_nothing_else() -> None:
    ours, told = written() | {code: error.__module__ for code, error in loaded().items()}, documented()
    missing = {code: where for code, where in ours.items() if code not in told}
    assert not missing, f"docs/errors.md lacks {missing}"
    assert not (gone := set(told) - set(ours)), f"docs/errors.md names what no longer exists: {gone}"


def test_status_and_retry_are_documented_as_they_are() -> None:
    ours, told = loaded(), documented()
    wrong = {
        code: (status_of(error).value, error.retryable)
        for code, error in ours.items()
        if code in told
        and told[code][0] != "-"  # never reaches HTTP
        and told[code] != (str(status_of(error).value), "yes" if error.retryable else "no")
    }
    assert not wrong, f"docs/errors.md should say {wrong}"


def test_no_two_errors_share_a_code() -> None:
    classes = [vars(web.errors)[name] for name in vars(web.errors)]
    codes = [
        c.code for c in classes if isinstance(c, type) and issubclass(c, ServiceError) and "code" in vars(c)
    ]
    assert len(codes) == len(set(codes))
