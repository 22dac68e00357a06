/* wavefronts_tiles: loops x of example.c:4; instances are gangs. */
static void tilek_wavefronts_tiles_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    const int64_t A_length1 = call->arrays[0].extent[1];
    double (*const A)[A_length1] = call->arrays[0].base;
    const int n = *(const int *)call->scalars[0];
    const long w = *(const long *)call->values[0];
    /* Tiles, by Algorithm 1. */
    const int64_t x_lower = call->loops[0]->lower;
    const int64_t x_trip = call->loops[0]->trip;
    const int64_t x_count1 = call->tiles[0][1].count;
    const int64_t x_stride0 = call->tiles[0][0].stride;
    const int64_t t_size = call->sizes[0];
    for (int64_t gang0 = first; gang0 < last; ++gang0) {
        /* Where the distributed tiles of this instance begin, in iterations. */
        const int64_t x_gang = gang0 * x_stride0;
        const long x_end = x_lower + tilek_minimum(x_gang + x_count1, x_trip);
        for (long x = x_lower + x_gang; x < x_end; ++x) {
#line 7 "example.c"
            for (long i = x * t_size; i < tilek_minimum(x * t_size + t_size, n); ++i) {
#line 8 "example.c"
                for (long j = (w - x) * t_size; j < tilek_minimum((w - x) * t_size + t_size, n); ++j) {
#line 9 "example.c"
                    A[i][j] = A[i][j] + A[j][i];
                }
            }
        }
    }
#line GENERATED
}

/* wavefronts: the order of its launches, example.c:4. */
static int tilek_wavefronts_host_steps(struct tilek_run *tilek_run_, const tilek_call *tilek_call_)
{
    const int n = *(const int *)tilek_call_->scalars[0];
    const long t_size = tilek_size_of(tilek_run_, 0);
    int tilek_stop;
    for (long w = 0; w < tilek_ceiling_quotient(n, t_size) * 2 - 1; ++w) {
        const tilek_bounds tilek_loops[] =
            {tilek_bounded(tilek_maximum(0, w - tilek_ceiling_quotient(n, t_size) + 1),
            tilek_minimum(w + 1, tilek_ceiling_quotient(n, t_size)), 1, '<')};
        const void *const tilek_values[] = {&w};
        tilek_stop = tilek_step(tilek_run_, 0, tilek_loops, tilek_values); /* wavefronts_tiles */
        if (tilek_stop) return tilek_stop;
    }
    return 0;
}
