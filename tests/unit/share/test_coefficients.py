"""Coefficients: what ships, what a user's file changes, and what is said of a broken one.

Would catch a file that is taken silently although something in it is wrong, a user's file that is
not found or hides a missing one, and a write that leaves half a file behind.
"""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pytest

from hamlet.errors import ReadError, SchemaError, WriteError
from hamlet.share import coefficients
from hamlet.share.coefficients import (
    DEFAULTS,
    FIELDS,
    KINDS,
    VARIABLE,
    load_coefficients,
    save_coefficients,
    user_path,
)

if TYPE_CHECKING:
    from pathlib import Path

MEASURED = replace(DEFAULTS, double=replace(DEFAULTS.double, event=1.25, touch_fixed=9.5))


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in the place of the user's folder for settings."""
    folder = tmp_path / "settings"
    monkeypatch.setattr(coefficients, "get_app_dir", lambda name: str(folder / name))
    monkeypatch.delenv(VARIABLE, raising=False)
    return folder


# What ships


def test_wide_numbers_cost_more_for_each_window():
    assert DEFAULTS.wide.touch_ns(12) > DEFAULTS.double.touch_ns(12)
    assert DEFAULTS.wide.touch_ns(0) == DEFAULTS.double.touch_ns(0)


def test_only_numbers_of_many_words_cost_more_with_more_words():
    longer = {k: DEFAULTS.of(k).touch_ns(3, 100) > DEFAULTS.of(k).touch_ns(3, 1) for k in KINDS}

    assert longer == {"double": False, "wide": False, "int64": False, "words": True}


@pytest.mark.parametrize("kind", KINDS)
def test_what_ships_would_be_accepted_from_a_file(kind: str, tmp_path: Path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps({kind: asdict(DEFAULTS.of(kind))}))

    assert load_coefficients(path) == DEFAULTS


def test_a_touch_pays_for_each_number_of_a_row_and_a_copy_for_each_of_all_rows():
    c = replace(
        DEFAULTS.words,
        touch_fixed=40,
        touch_window=8,
        touch_word=1.5,
        copy_fixed=20,
        copy_cell=6,
        copy_word=1,
    )

    assert c.touch_ns(10, 4) == 40 + (8 + 1.5 * 4) * 10
    assert c.copy_ns(30, 4) == 20 + (6 + 4) * 30


# Files


def test_what_is_saved_is_read_back(tmp_path: Path):
    path = tmp_path / "new" / "folder" / "c.json"

    assert save_coefficients(MEASURED, path) == path

    assert load_coefficients(path) == MEASURED
    assert [found.name for found in path.parent.iterdir()] == ["c.json"]


def test_what_a_file_leaves_out_keeps_its_shipped_value(tmp_path: Path):
    path = tmp_path / "c.json"
    path.write_text('{"double": {"event": 1.25, "touch_fixed": 9.5}}')

    assert load_coefficients(path) == MEASURED


def test_without_a_file_the_shipped_values_count(settings: Path):
    assert load_coefficients() == DEFAULTS
    assert not settings.exists()


def test_the_users_file_is_in_the_folder_for_settings(settings: Path):
    written = save_coefficients(MEASURED)

    assert written == user_path() == settings / "hamlet" / "coefficients.json"
    assert load_coefficients() == MEASURED


def test_the_environment_names_another_file(
    settings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    save_coefficients(DEFAULTS)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "other.json"))

    save_coefficients(MEASURED)

    assert load_coefficients() == MEASURED
    assert load_coefficients(settings / "hamlet" / "coefficients.json") == DEFAULTS


def test_a_file_that_was_named_must_be_there(tmp_path: Path):
    missing = str(tmp_path / "none.json")

    with pytest.raises(ReadError, match="no such file") as named:
        load_coefficients(missing)
    with pytest.raises(ReadError) as in_environment:
        load_coefficients(environment={VARIABLE: missing})

    assert named.value == in_environment.value


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("{", ReadError, "not JSON"),
        ("[" * 100_000, ReadError, "not JSON"),
        ("[1]", SchemaError, "expected an object with double, wide, int64, words"),
        ('{"duoble": {}}', SchemaError, "Did you mean 'double'?"),
        ('{"wide": 3}', SchemaError, '"wide" must be an object'),
        ('{"wide": {"evnt": 3}}', SchemaError, "Did you mean 'event'?"),
        ('{"wide": {"event": "3"}}', SchemaError, '"event" of "wide" is "3"; it must be a number'),
        ('{"wide": {"event": true}}', SchemaError, "is true; it must be a number"),
        ('{"wide": {"event": null}}', SchemaError, "is null; it must be a number"),
        ('{"wide": {"event": -1}}', SchemaError, "is -1; it must be 0 or more nanoseconds"),
        ('{"wide": {"event": NaN}}', SchemaError, "is nan; it must be 0 or more"),
        ('{"wide": {"event": 1e999}}', SchemaError, "is inf; it must be 0 or more"),
        ('{"wide": {"event": 2e9}}', SchemaError, "and at most a second"),
        ('{"wide": {"event": 1' + "0" * 400 + "}}", SchemaError, "and at most a second"),
        ('{"wide": {"touch_fixed": 0}}', SchemaError, "is 0; it must be more than 0"),
    ],
)
def test_a_broken_file_is_refused_with_what_is_wrong(
    text: str, error: type[Exception], said: str, tmp_path: Path
):
    path = tmp_path / "c.json"
    path.write_text(text)

    with pytest.raises(error) as caught:
        load_coefficients(path)

    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_a_file_that_is_not_text_is_refused(tmp_path: Path):
    path = tmp_path / "c.json"
    path.write_bytes(b"\xff\xfe{}")

    with pytest.raises(ReadError, match="not UTF-8"):
        load_coefficients(path)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(WriteError, match=r"file.c\.json"):
        save_coefficients(DEFAULTS, tmp_path / "file" / "c.json")


def test_a_folder_in_the_way_leaves_nothing_behind(tmp_path: Path):
    (tmp_path / "c.json").mkdir()

    with pytest.raises(WriteError):
        save_coefficients(DEFAULTS, tmp_path / "c.json")

    assert [found.name for found in tmp_path.iterdir()] == ["c.json"]


def test_the_file_says_every_coefficient_of_every_kind(tmp_path: Path):
    path = save_coefficients(DEFAULTS, tmp_path / "c.json")

    written = json.loads(path.read_text())

    assert set(written) == set(KINDS)
    assert all(set(entries) == set(FIELDS) for entries in written.values())
