"""Writes docs/settings.md from the settings themselves: ``python -m livelens.settings_page``."""

import ast
import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from enum import Enum

from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from livelens.settings import Settings

_HEAD = """# Settings

Read once at the start: the command line first, then environment variables, then files in the folder that
`LIVELENS_SECRETS_DIR` names (one value per file, `livelens_model_key` for example), then `livelens.toml` (or the file that `--config` or `LIVELENS_CONFIG` names).
A section is a table in the file and `__` in a variable: `[ingest] read_timeout_s` is `LIVELENS_INGEST__READ_TIMEOUT_S`. A wrong or unknown setting stops the start with
one line. This page is generated: `python -m livelens.settings_page`.
"""


def page() -> str:
    """Return the whole page."""
    notes = field_notes(Settings)
    plain = []
    sections = []
    for name, field in Settings.model_fields.items():
        if dataclasses.is_dataclass(field.annotation):
            sections.append(_section(name, notes[name], field.annotation))
        else:
            default = (
                "the user's data folder" if field.default is PydanticUndefined else _value(field.default)
            )
            plain.append((name, default, notes[name]))
    return "\n".join([_HEAD, _table(plain), *sections])


def field_notes(cls: type) -> Mapping[str, str]:
    """Return what a class's source says of each field: its ``Attributes:`` list, or the text below the field."""
    found = dict(_listed(inspect.getdoc(cls) or ""))
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    if isinstance(body, ast.ClassDef):
        for field, note in zip(body.body, body.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(note, ast.Expr)
                and isinstance(note.value, ast.Constant)
                and isinstance(note.value.value, str)
            ):
                found[field.target.id] = " ".join(note.value.value.split())
    return found


def _listed(doc: str) -> Iterator[tuple[str, str]]:
    listed = doc.partition("Attributes:\n")[2]
    names: list[str] = []
    words: list[str] = []
    for line in [*listed.splitlines(), "    end:"]:
        entry = re.match(r"    (\w+(?:, \w+)*): ?(.*)", line)
        if entry:
            for name in names:
                yield name, " ".join(words)
            names, words = entry[1].split(", "), [entry[2]]
        else:
            words.append(line.strip())


def _section(name: str, note: str, cls: type) -> str:
    return f"\n## `[{name}]`: {note}\n\n{_table(list(_rows(cls)))}"


def _rows(cls: type, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    notes = field_notes(cls)
    defaults = cls()
    for field in dataclasses.fields(cls):
        value = getattr(defaults, field.name)
        if dataclasses.is_dataclass(value):
            yield from _rows(type(value), f"{prefix}{field.name}.")
        else:
            yield f"{prefix}{field.name}", _value(value), notes[field.name]


def _value(value: object) -> str:
    match value:
        case SecretStr() | "" | None | ():
            return "(none)"
        case Enum():
            return f"`{value.value}`"
        case bool():
            return f"`{str(value).lower()}`"
        case int() if value >= 1 << 20 and value % (1 << 20) == 0:
            return f"`{value}` ({value >> 20} MiB)"
        case _:
            return f"`{value}`"


def _table(rows: list[tuple[str, str, str]]) -> str:
    lines = ["| setting | default | meaning |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {default} | {note} |" for name, default, note in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
