"""The refusal of a request about a kernel."""

from __future__ import annotations


class RefusalError(Exception):
    """The message is a clause on the kernel, or on the function around it, that tells why."""
