"""Output files that are whole or not there."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


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
    # not the number of the process alone: another machine, or another container, may write here too
    temporary = final.with_name(f".{final.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    held = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        locked(held)
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        if fcntl is None:
            os.close(held)  # an open file cannot be renamed there
            held = -1
        temporary.replace(final)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    finally:
        if held >= 0:
            os.close(held)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files in `folder` of processes that were killed while they wrote."""
    for left in folder.glob(".*.part"):
        with suppress(OSError):
            held = os.open(left, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                if locked(held):
                    left.unlink()
            finally:
                os.close(held)


def locked(file: int) -> bool:
    """
    Lock an open file until it is closed, or its process ends; False where another one has it.

    The number of a process says less: in another namespace of processes, a living one looks dead.
    """
    if fcntl is None:
        return False  # nothing tells without touching it
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
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
    temporary = Path(tempfile.mkdtemp(prefix=f".{final.name}.", suffix=".part", dir=final.parent))
    temporary.chmod(0o777 & ~_umask())
    try:
        yield temporary
        if final.exists():
            old = temporary.with_suffix(".old")
            final.rename(old)
            temporary.rename(final)
            shutil.rmtree(old)
        else:
            temporary.rename(final)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _is_special(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
