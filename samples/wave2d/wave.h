/* wave.h: the wave equation u_tt = c^2 (u_xx + u_yy) - damping u_t, second order in time and space. */
#ifndef WAVE_H
#define WAVE_H

#include "grid.h"

/* Computes g->after from g->now and g->before; adds `amplitude` at cell (row, column), the source. */
void wave_step(grid *g, int row, int column, float amplitude);

/* The largest |now|. */
float wave_peak(const grid *g);

/* A Ricker wavelet of the given period, in steps. */
float wave_source(int step, float period);

#endif
