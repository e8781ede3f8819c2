"""Output files that are whole or not there."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """
    Give a temporary path beside `path`, renamed to it if all goes well and removed if not.

    The temporary file is made at once, so that an unwritable place is found before the work and not after it. Devices
    and pipes are written directly.
    """
    final = Path(path)
    if _is_special(final):
        yield final
        return
    final = final.resolve()
    if final.is_dir():
        raise IsADirectoryError(21, "Is a directory", str(final))
    beside = final.with_name(f".{final.name}.{os.getpid()}.part")
    beside.touch()
    try:
        yield beside
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        beside.replace(final)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files in `folder` of processes that were killed while they wrote."""
    for left in folder.glob(".*.part"):
        owner = left.name.rsplit(".", 2)[1]
        if owner.isdigit() and not _alive(int(owner)):
            with suppress(OSError):
                left.unlink()


def _alive(process: int) -> bool:
    if os.name != "posix":
        return True  # nothing tells without touching it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Make errors of what is written inside name `path`, whatever the library that writes calls it."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


@contextmanager
def whole_directory(path: str | os.PathLike[str], marker: str) -> Iterator[Path]:
    """
    Give a temporary directory beside `path`, renamed to it if all goes well and removed if not.

    An existing directory is replaced only if it holds a file `marker`, so that nothing else is lost.
    """
    final = Path(path).resolve()
    if final.exists() and not (final / marker).is_file():
        raise FileExistsError(17, f"exists and holds no {marker}", str(final))
    beside = final.with_name(f".{final.name}.{os.getpid()}.part")
    shutil.rmtree(beside, ignore_errors=True)  # of a killed process that had our number
    beside.mkdir()
    try:
        yield beside
        if final.exists():
            old = final.with_name(f".{final.name}.{os.getpid()}.old")
            final.rename(old)
            beside.rename(final)
            shutil.rmtree(old)
        else:
            beside.rename(final)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def _is_special(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
