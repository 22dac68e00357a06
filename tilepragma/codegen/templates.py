"""The Jinja2 environment over the package's `templates/` folder, made once a process."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tilepragma.base.c_text import in_comment
from tilepragma.base.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Environment


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
    )
    environment.filters["in_comment"] = in_comment
    return environment


def render(template: str, **context: object) -> str:
    """The text of `template` (a path below `templates/`) with the names of `context`."""
    return _environment().get_template(template).render(**context)
