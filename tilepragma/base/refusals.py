"""Refusals: of a request about a kernel, and of a command."""

from __future__ import annotations


class RefusalError(Exception):
    """The message is a clause on the kernel, or on the function around it, that tells why."""


class CommandError(Exception):
    """Ends a command with `status`, 2 for wrong usage; an empty message was printed already."""

    def __init__(self, message: str = "", status: int = 2) -> None:
        super().__init__(message)
        self.status = status
