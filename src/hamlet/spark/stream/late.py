"""Rows that came too late, as JSON lines in a folder: a side output of a stream.

Each file has those of one bucket in one batch, and its name says which. A batch that is done again
after a failure has the same rows and writes the same files, so each row is there once. Files are
there whole or not at all. What is in them is rows as they came: they can be read, and run, again.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pyarrow import fs

from hamlet.errors import WriteError

if TYPE_CHECKING:
    import pyarrow as pa


def keep_late(folder: str, batch: int, bucket: int, texts: pa.ChunkedArray) -> None:
    """Write late rows.

    Args:
        folder: Where to, as a path or a URL.
        batch: The batch that they came with.
        bucket: The bucket that they belong to.
        texts: The rows.

    Raises:
        WriteError: They cannot be written.
    """
    # The order in which tasks get rows may differ from one attempt to the next.
    lines = sorted(text.as_py() for text in texts)
    written = "".join(f"{line}\n" for line in lines).encode()
    name = f"{batch:08d}-{bucket}.jsonl"
    try:
        if "://" in folder:
            system, path = fs.FileSystem.from_uri(folder)
            _write(system, path, name, written)
        else:
            _write(fs.LocalFileSystem(), str(Path(folder).absolute()), name, written)
    except OSError as error:
        raise WriteError(folder, f"late rows cannot be written ({error})") from error


def _write(system: fs.FileSystem, folder: str, name: str, written: bytes) -> None:
    system.create_dir(folder, recursive=True)
    # Attempts of one task may run at the same time.
    partial = f"{folder}/.{name}.{os.getpid()}"
    with system.open_output_stream(partial) as out:
        out.write(written)
    system.move(partial, f"{folder}/{name}")
