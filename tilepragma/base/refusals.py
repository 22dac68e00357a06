"""Refusals: of a request about a kernel, and of a command."""

from __future__ import annotations


class RefusalError(Exception):
    """The message is a clause on the kernel, or on the function around it, that tells why."""


class CommandError(Exception):
    """Ends a command with this status: 2 for wrong usage, else 1. The message is a sentence for the
    user, empty if it was printed already.
    """

    def __init__(self, message: str = "", status: int = 2) -> None:
        super().__init__(message)
        self.status = status
