from __future__ import annotations

import pytest

from tilepragma.base.resources import resource_folder


def test_the_runtime_is_found() -> None:
    assert (resource_folder("runtime") / "include" / "tilek.h").is_file()


def test_a_folder_that_does_not_ship_is_an_error_that_names_it() -> None:
    with pytest.raises(FileNotFoundError, match="'nowhere'"):
        resource_folder("nowhere")
