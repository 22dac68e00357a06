/* wave2d: a wave in a layered medium, from a point source, with an absorbing border. */
#include "../common/sample.h"

#include "grid.h"
#include "image.h"
#include "wave.h"

typedef struct options {
    const char *image;
    int argument_count;
    char **arguments; /* those of the sample */
} options;

static options parse(int argc, char **argv)
{
    options o = {.arguments = sample_allocate((size_t)argc + 1, sizeof *o.arguments)};
    for (int a = 0; a < argc; ++a) {
        if (strcmp(argv[a], "--image") != 0)
            o.arguments[o.argument_count++] = argv[a];
        else if (++a == argc)
            sample_fail("wave2d", "a file name must follow", "--image");
        else
            o.image = argv[a];
    }
    return o;
}

static void simulate(grid *g, int steps)
{
    const int row = g->ny / 3, column = g->nx / 2;

#pragma tilek data copyin(g->speed[0:grid_cells(g)], g->damping[0:grid_cells(g)]) \
                   copy(g->before[0:grid_cells(g)], g->now[0:grid_cells(g)], g->after[0:grid_cells(g)])
    for (int step = 0; step < steps; ++step) {
        wave_step(g, row, column, wave_source(step, 40.0f));
        grid_advance(g);
    }
}

int main(int argc, char **argv)
{
    const options o = parse(argc, argv);
    const int defaults[] = {1200, 900, 1100};
    sample run = sample_start(o.argument_count, o.arguments, "wave2d", "NX NY STEPS] [--image FILE.ppm", 3, defaults);
    grid g;
    if (run.sizes[0] == 0 || run.sizes[1] == 0)
        sample_fail("wave2d", "must not be empty", "grid");
    if (grid_create(&g, run.sizes[0], run.sizes[1]) != 0)
        sample_fail("wave2d", "out of memory", "grid");
    grid_medium(&g, 40);

    const double start = sample_seconds();
    simulate(&g, run.sizes[2]);
    const double seconds = sample_seconds() - start;

    const float peak = wave_peak(&g);
    if (o.image != NULL && image_write(o.image, &g, 0.5f * peak) != 0)
        sample_fail("wave2d", strerror(errno), o.image);
    sample_record(&run, g.now, grid_cells(&g));
    sample_record(&run, &peak, 1);
    grid_free(&g);
    free(o.arguments);
    return sample_finish(&run, seconds);
}
