"""The templates of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilepragma.base.resources import resource_folder

if TYPE_CHECKING:
    from jinja2 import Template


def page_template(name: str) -> Template:
    """A template by its path. It escapes values; an unknown name is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(resource_folder("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    return environment.get_template(name)
