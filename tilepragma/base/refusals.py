"""What is asked of a kernel and cannot be done with it."""

from __future__ import annotations


class RefusalError(Exception):
    """The message is a clause on the kernel, or on the function around it, that says why."""
