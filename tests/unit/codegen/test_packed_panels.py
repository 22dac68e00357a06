"""What buffers become in the text: a local array, filled before, in place of the elements inside, and written back."""

from __future__ import annotations

from tests.support.source_plans import plan
from tilepragma.codegen.host_functions import host_functions
from tilepragma.codegen.packed_panels import panel_parts
from tilepragma.ir.loop_tree import Block, PackedPanels
from tilepragma.ir.loop_tree_text import statement_text
from tilepragma.ir.traversal import walk


def printed(source: str) -> list[str]:
    """The statements of every PackedPanels on cores, the outermost first."""
    nodes = [node for launch in plan(source).host for node in walk(launch.body) if isinstance(node, PackedPanels)]
    return [statement_text(Block(panel_parts(node, lambda name: name).statements)) for node in nodes]


def test_a_register_tile_is_loaded_updated_and_stored() -> None:
    panel, text, padded_panel, padded = printed("""
    void f(int n, float c[n][n], float a[n][n], float b[n][n])
    {
    #pragma tilek kernel
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j];
    }""")
    assert assignments(text) == [
        "c_tile[i_step][j_step] = c[i][j];",
        "c_tile[i_step][j_step] += a[i][k] * b[k][j];",
        "c[i][j] = c_tile[i_step][j_step];",
    ]
    assert text.strip().startswith("float c_tile[8][32];")
    assert "b_panel[k - k_first][j - j_tile] = b[k][j];" in panel
    assert [line.replace("_2", "") for line in assignments(padded)] == [
        "c_tile_rows[(32 * i_step) + j_step] = 0;",
        "c_tile_rows[(32 * i_step) + j_step] = c[i][j];",
        "c_tile[i_step][j_step] = c_tile_rows[(32 * i_step) + j_step];",
        "c_tile[i_step][j_step] += a[i][k] * b[k][j];",
        "c_tile_rows[(32 * i_step) + j_step] = c_tile[i_step][j_step];",
        "c[i][j] = c_tile_rows[(32 * i_step) + j_step];",
    ], "loops whose bounds are no constants go by another array, so that the tile stays in registers"
    assert padded.count("j_step_2 < tilek_minimum(32l, (long)n - j_tile);") == 2
    assert "if (" not in padded
    zeros, packed = (line.strip() for line in padded_panel.splitlines() if line.strip().startswith("b_panel"))
    assert (zeros, packed) == (
        "b_panel_2[k - k_first][j - j_tile] = 0;",
        "b_panel_2[k - k_first][j - j_tile] = b[k][j];",
    )
    assert "j < tilek_minimum(j_tile + 32l, (long)n);" in padded_panel


def assignments(text: str) -> list[str]:
    """What is assigned, in order, without declarations."""
    lines = [line.strip() for line in text.splitlines()]
    return [line for line in lines if "=" in line and line.endswith(";") and not line.startswith("int")]


def test_a_panel_is_filled_only_and_reached_through_a_pointer() -> None:
    panel, *_ = printed("""
    void f(int n, double c[n][n], double a[n][n], double b[n][n])
    {
    #pragma tilek kernel
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[j][k];
    }""")
    lines = [line.strip() for line in panel.splitlines()]
    assert lines[0] == "double b_panel_space[256][24];"
    assert "b_panel[k - k_first][j - j_tile] = b[j][k];" in lines
    assert not any(line.startswith("b[") for line in lines)
    assert any(line.endswith("+= a[i][k] * b_panel[k - k_first][j - j_tile];") for line in lines)


def test_functions_with_register_tiles_ask_for_vectors_as_wide() -> None:
    def text(body: str) -> str:
        made = plan(f"""
        void f(int n, float c[n][n], float a[n][n], float b[n][n])
        {{
        #pragma tilek kernel
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) {body}
        }}""")
        return host_functions(made)

    assert "TILEK_WIDE static void" in text("for (int k = 0; k < n; k++) c[i][j] += a[i][k] * b[k][j];")
    assert "TILEK_WIDE" not in text("c[i][j] = a[i][j] + b[i][j];")
