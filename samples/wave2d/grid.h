/* grid.h: the state of a 2-D wave field, row-major, rows of `nx` cells. */
#ifndef GRID_H
#define GRID_H

#include <stddef.h>

typedef struct grid {
    int nx, ny;
    float *speed;   /* (c dt / dx)^2 of each cell */
    float *damping; /* 0 inside, rising towards the border: the absorbing layer */
    float *before;  /* the field one step ago */
    float *now;
    float *after;   /* being computed */
} grid;

/* 0, or -1 where memory is exhausted (nothing is left allocated then). */
int grid_create(grid *g, int nx, int ny);
void grid_free(grid *g);

/* A medium of two layers with a random texture, and an absorbing layer of `width` cells around it. */
void grid_medium(grid *g, int width);

/* after becomes now, now becomes before. */
void grid_advance(grid *g);

static inline size_t grid_cells(const grid *g)
{
    return (size_t)g->nx * (size_t)g->ny;
}

#endif
