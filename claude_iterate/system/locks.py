"""Kernel locks on open files: they end with the file or with the process, so a crash frees them."""

from __future__ import annotations

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]


def try_lock(handle: int, shared: bool = False) -> bool | None:
    """Lock an open file without waiting: True when we have the lock, False while another process has it, None where
    files cannot be locked. Any number of processes can hold a shared lock, but none beside an exclusive one."""
    if fcntl is None:
        raise NotImplementedError("file locks on this system")
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def unlock(handle: int) -> None:
    """Release a lock."""
    fcntl.flock(handle, fcntl.LOCK_UN)
