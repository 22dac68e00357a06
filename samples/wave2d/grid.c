#include "grid.h"

#include <stdint.h>
#include <stdlib.h>

int grid_create(grid *g, int nx, int ny)
{
    g->nx = nx;
    g->ny = ny;
    g->speed = calloc(grid_cells(g), sizeof *g->speed);
    g->damping = calloc(grid_cells(g), sizeof *g->damping);
    g->before = calloc(grid_cells(g), sizeof *g->before);
    g->now = calloc(grid_cells(g), sizeof *g->now);
    g->after = calloc(grid_cells(g), sizeof *g->after);
    if (g->speed && g->damping && g->before && g->now && g->after)
        return 0;
    grid_free(g);
    return -1;
}

void grid_free(grid *g)
{
    free(g->speed);
    free(g->damping);
    free(g->before);
    free(g->now);
    free(g->after);
    g->speed = g->damping = g->before = g->now = g->after = NULL;
}

static int distance_to_border(const grid *g, int i, int j)
{
    const int y = i < g->ny - 1 - i ? i : g->ny - 1 - i;
    const int x = j < g->nx - 1 - j ? j : g->nx - 1 - j;
    return x < y ? x : y;
}

void grid_medium(grid *g, int width)
{
    uint32_t random = 2463534242u;
    for (int i = 0; i < g->ny; ++i)
        for (int j = 0; j < g->nx; ++j) {
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            const float texture = 0.02f * (float)(random >> 8) * 0x1p-24f;
            const int deep = 3 * i + j > 2 * g->ny;
            const size_t cell = (size_t)i * (size_t)g->nx + (size_t)j;
            g->speed[cell] = (deep ? 0.36f : 0.16f) + texture;
            const int border = distance_to_border(g, i, j);
            const float inside = border < width ? (float)(width - border) / (float)width : 0.0f;
            g->damping[cell] = 0.3f * inside * inside;
        }
}

void grid_advance(grid *g)
{
    float *const oldest = g->before;
    g->before = g->now;
    g->now = g->after;
    g->after = oldest;
}
