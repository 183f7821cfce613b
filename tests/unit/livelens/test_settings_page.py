import dataclasses
from pathlib import Path

from livelens.settings import Settings
from livelens.settings_page import field_notes, page

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_in_the_docs_is_the_generated_one() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == page()


def test_every_setting_has_a_line_that_explains_it() -> None:
    unexplained = [name for name in Settings.model_fields if not field_notes(Settings).get(name)]
    for section, field in Settings.model_fields.items():
        if dataclasses.is_dataclass(field.annotation):
            notes = field_notes(field.annotation)
            names = [entry.name for entry in dataclasses.fields(field.annotation)]
            unexplained += [f"{section}.{name}" for name in names if not notes.get(name)]
    assert not unexplained
