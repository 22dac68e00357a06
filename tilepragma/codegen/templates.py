"""The Jinja2 environment over the package's `templates/` folder, made once a process. Compiled
templates stay in the user's cache.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from tilepragma.base.c_text import in_comment
from tilepragma.base.resources import resource_folder
from tilepragma.base.user_folders import cache_folder, inner_folder

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(resource_folder("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        # The package's files do not change while it runs.
        auto_reload=False,
        bytecode_cache=_cache(),
    )
    environment.filters["in_comment"] = in_comment
    return environment


def _cache() -> BytecodeCache | None:
    """The user's cache of compiled templates, by hashes; None where no folder can be trusted."""
    from jinja2 import FileSystemBytecodeCache
    from jinja2.bccache import Bucket

    class Cache(FileSystemBytecodeCache):
        def load_bytecode(self, bucket: Bucket) -> None:
            try:
                super().load_bytecode(bucket)
            except Exception:  # whatever a damaged file makes of pickle; the template is compiled again
                bucket.reset()

        def dump_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError):  # a full or read-only disk costs time alone
                super().dump_bytecode(bucket)

    with suppress(OSError):
        return Cache(str(inner_folder(cache_folder() / "templates")))
    return None


def render(template: str, **context: object) -> str:
    """The text of `template` (a path below `templates/`) with the names of `context`."""
    return _environment().get_template(template).render(**context)
