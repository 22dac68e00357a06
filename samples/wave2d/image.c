#include "image.h"

#include <math.h>
#include <stdio.h>

static unsigned char shade(float value)
{
    return (unsigned char)(value <= 0.0f ? 0 : value >= 1.0f ? 255 : (int)(255.0f * value));
}

int image_write(const char *path, const grid *g, float peak)
{
    FILE *const file = fopen(path, "wb");
    if (file == NULL)
        return -1;
    fprintf(file, "P6\n%d %d\n255\n", g->nx, g->ny);
    for (size_t k = 0; k < grid_cells(g); ++k) {
        const float u = peak > 0.0f ? g->now[k] / peak : 0.0f;
        const float colour = sqrtf(fabsf(u));
        const float paper = (0.95f - 0.5f * g->speed[k]) * (1.0f - colour);
        const unsigned char pixel[3] = {
            shade(paper + (u > 0.0f ? colour : 0.0f)),
            shade(paper),
            shade(paper + (u < 0.0f ? colour : 0.0f)),
        };
        fwrite(pixel, 1, sizeof pixel, file);
    }
    const int failed = ferror(file);
    return fclose(file) != 0 || failed ? -1 : 0;
}
