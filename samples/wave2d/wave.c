#include "wave.h"

#include <math.h>

void wave_step(grid *g, int row, int column, float amplitude)
{
    const int nx = g->nx, ny = g->ny;
    const float *speed = g->speed, *damping = g->damping, *before = g->before, *now = g->now;
    float *after = g->after;

#pragma tilek kernel data(speed[0:ny*nx], damping[0:ny*nx], before[0:ny*nx], now[0:ny*nx], mode:r, live:in) \
                     data(after[0:ny*nx], mode:w, live:inout)
#pragma tilek loop independent
    for (int i = 1; i < ny - 1; ++i)
#pragma tilek loop independent
        for (int j = 1; j < nx - 1; ++j) {
            const float u = now[i * nx + j];
            const float laplacian = now[(i - 1) * nx + j] + now[(i + 1) * nx + j]
                                  + now[i * nx + j - 1] + now[i * nx + j + 1] - 4.0f * u;
            const float d = damping[i * nx + j];
            float next = (2.0f * u - (1.0f - d) * before[i * nx + j] + speed[i * nx + j] * laplacian) / (1.0f + d);
            if (i == row && j == column)
                next += amplitude;
            after[i * nx + j] = next;
        }
}

float wave_peak(const grid *g)
{
    const int cells = g->nx * g->ny;
    const float *now = g->now;
    float peak = 0.0f;

#pragma tilek kernel data(now[0:cells], mode:r, live:in) reduction(max: peak)
#pragma tilek loop independent
    for (int k = 0; k < cells; ++k) {
        const float size = fabsf(now[k]);
        peak = size > peak ? size : peak;
    }
    return peak;
}

float wave_source(int step, float period)
{
    const float t = 3.14159265f * ((float)step / period - 1.2f);
    return (1.0f - 2.0f * t * t) * expf(-t * t);
}
