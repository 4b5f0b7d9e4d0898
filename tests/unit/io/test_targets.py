"""Places that are written to: what is refused, in which words, and that nothing is left behind.

Would catch a place that is found to be impossible only after the work, an error that names another
file than the one that could not be written, and a file that is replaced unasked.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from hamlet.errors import WriteError
from hamlet.io.targets import check_apart, check_file, check_folder
from hamlet.io.whole import put_whole, write_text


def test_a_folder_that_is_missing_is_named(tmp_path: Path):
    with pytest.raises(WriteError) as caught:
        check_file(tmp_path / "none" / "a.csv", overwrite=False)

    assert caught.value.reason == f"there is no folder {tmp_path / 'none'}; make it first"


def test_a_folder_whose_name_is_near_is_offered(tmp_path: Path):
    (tmp_path / "results").mkdir()

    with pytest.raises(WriteError, match="Did you mean 'results'"):
        check_file(tmp_path / "resluts" / "a.csv", overwrite=False)


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path):
    (tmp_path / "notes").touch()

    with pytest.raises(WriteError, match="notes is not a folder"):
        check_file(tmp_path / "notes" / "a.csv", overwrite=False)


def test_what_is_there_is_replaced_only_if_asked(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("mine")

    with pytest.raises(WriteError, match="it is there already"):
        check_file(path, overwrite=False)
    check_file(path, overwrite=True)

    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.csv")

    with pytest.raises(WriteError, match="neither a file nor a folder"):
        check_file(tmp_path / "pipe.csv", overwrite=True)


def test_only_folders_that_hold_what_is_written_are_replaced(tmp_path: Path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "part-0.parquet").touch()

    def check(overwrite: bool) -> None:
        is_ours = lambda each: each.name.startswith("part-")  # noqa: E731 - one line says it
        check_folder(folder, overwrite=overwrite, holds="parts", is_ours=is_ours)

    with pytest.raises(WriteError, match="it is there already"):
        check(overwrite=False)
    check(overwrite=True)
    (folder / "thesis.tex").touch()
    with pytest.raises(WriteError, match=r"holds more than parts \(thesis.tex\)"):
        check(overwrite=True)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC])
def test_where_nothing_can_be_written_is_found_out_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    def refuse(*arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", refuse)

    with pytest.raises(WriteError) as caught:
        check_file(tmp_path / "a.csv", overwrite=False)

    assert caught.value == WriteError(str(tmp_path / "a.csv"), os.strerror(number).lower())


def test_an_error_of_writing_is_not_hidden_by_one_of_tidying_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*arguments: object, **more: object) -> None:
        raise OSError(errno.EROFS, "read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    monkeypatch.setattr(Path, "write_text", refuse)

    with pytest.raises(WriteError, match=r"a\.csv: read-only file system"):
        write_text(tmp_path / "a.csv", "anything")


def test_what_was_there_is_there_again_when_writing_fails(tmp_path: Path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "old").touch()

    def write() -> None:
        with put_whole(folder) as partial:
            partial.mkdir()
            raise OSError(errno.ENOSPC, "no space left on device")

    with pytest.raises(WriteError, match="no space left"):
        write()

    assert [each.name for each in tmp_path.rglob("*")] == ["out", "old"]


@pytest.mark.parametrize(
    ("out", "events", "is_refused"),
    [
        ("events.csv", "events.csv", True),
        ("data", "data/part-0.parquet", True),
        ("data", "data/*.parquet", True),
        ("./data/../data", "data/part-?.parquet", True),
        ("data", "database/part-0.parquet", False),
        ("data/out.csv", "data", False),
    ],
)
def test_what_is_read_is_not_replaced(out: str, events: str, is_refused: bool):
    if not is_refused:
        check_apart({"results": out}, {"events": events})
        return
    with pytest.raises(WriteError, match="the events are there; choose another place"):
        check_apart({"results": out}, {"events": events})


@pytest.mark.parametrize("other", ["out", "out/page.html", "./out"])
def test_no_place_is_written_to_twice(other: str):
    with pytest.raises(WriteError, match="that is the place of the results"):
        check_apart({"results": "out", "trace": None, "report": other}, {"events": "e.csv"})
