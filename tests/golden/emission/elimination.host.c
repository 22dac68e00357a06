/* elimination_nest1: loops i of example.c:4; instances are gangs. */
static void tilek_elimination_nest1_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    const int64_t A_length1 = call->arrays[0].extent[1];
    double (*const A)[A_length1] = call->arrays[0].base;
    const int k = *(const int *)call->values[0];
    /* Tiles, by Algorithm 1. */
    const int64_t i1_lower = call->loops[0]->lower;
    const int64_t i1_trip = call->loops[0]->trip;
    const int64_t i1_count1 = call->tiles[0][1].count;
    const int64_t i1_count2 = call->tiles[0][2].count;
    const int64_t i1_stride0 = call->tiles[0][0].stride;
    const int64_t i1_stride1 = call->tiles[0][1].stride;
    for (int64_t gang0 = first; gang0 < last; ++gang0) {
        /* Where the distributed tiles of this instance begin, in iterations. */
        const int64_t i1_gang = gang0 * i1_stride0;
        for (int64_t i1_worker = 0; i1_worker < i1_count1 * i1_stride1; i1_worker += i1_stride1) {
            const int i1_end = i1_lower + tilek_minimum(i1_gang + i1_worker + i1_count2, i1_trip);
            for (int i = i1_lower + i1_gang + i1_worker; i < i1_end; ++i) {
#line 9 "example.c"
                A[i][k] /= A[k][k];
            }
        }
    }
#line GENERATED
}

/* elimination_nest2: loops i of example.c:4; instances are gangs. */
static void tilek_elimination_nest2_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    const int64_t A_length1 = call->arrays[0].extent[1];
    double (*const A)[A_length1] = call->arrays[0].base;
    const int k = *(const int *)call->values[0];
    /* Tiles, by Algorithm 1. */
    const int64_t i2_lower = call->loops[0]->lower;
    const int64_t i2_trip = call->loops[0]->trip;
    const int64_t i2_count1 = call->tiles[0][1].count;
    const int64_t i2_count2 = call->tiles[0][2].count;
    const int64_t i2_stride0 = call->tiles[0][0].stride;
    const int64_t i2_stride1 = call->tiles[0][1].stride;
    for (int64_t gang0 = first; gang0 < last; ++gang0) {
        double s = -0.0;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const int64_t i2_gang = gang0 * i2_stride0;
        for (int64_t i2_worker = 0; i2_worker < i2_count1 * i2_stride1; i2_worker += i2_stride1) {
            const int i2_end = i2_lower + tilek_minimum(i2_gang + i2_worker + i2_count2, i2_trip);
            for (int i = i2_lower + i2_gang + i2_worker; i < i2_end; ++i) {
#line 9 "example.c"
                s += A[i][k];
            }
        }
#line GENERATED
        ((double *)call->partials[0])[gang0] = s;
    }
}

/* elimination_nest3: loops i of example.c:4; instances are gangs. */
static void tilek_elimination_nest3_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    const int64_t A_length1 = call->arrays[0].extent[1];
    double (*const A)[A_length1] = call->arrays[0].base;
    const int k = *(const int *)call->values[0];
    /* Tiles, by Algorithm 1. */
    const int64_t i3_trip = call->loops[0]->trip;
    const int64_t i3_count1 = call->tiles[0][1].count;
    const int64_t i3_count2 = call->tiles[0][2].count;
    const int64_t i3_stride0 = call->tiles[0][0].stride;
    const int64_t i3_stride1 = call->tiles[0][1].stride;
    for (int64_t gang0 = first; gang0 < last; ++gang0) {
        /* Where the distributed tiles of this instance begin, in iterations. */
        const int64_t i3_gang = gang0 * i3_stride0;
        for (int64_t i3_worker = 0; i3_worker < i3_count1 * i3_stride1; i3_worker += i3_stride1) {
            const int i3_end = tilek_minimum(i3_gang + i3_worker + i3_count2, i3_trip);
            for (int i = i3_gang + i3_worker; i < i3_end; ++i) {
#line 9 "example.c"
                A[i][0] = A[i][k];
            }
        }
    }
#line GENERATED
}

/* elimination: the order of its launches, example.c:4. */
static int tilek_elimination_host_steps(struct tilek_run *tilek_run_, const tilek_call *tilek_call_)
{
    const int n = *(const int *)tilek_call_->scalars[0];
    int tilek_stop;
    for (int k = n - 1; k >= 0; --k) {
        {
            const tilek_bounds tilek_loops[] = {tilek_bounded(k + 1, n, 1, '<')};
            const void *const tilek_values[] = {&k};
            tilek_stop = tilek_step(tilek_run_, 0, tilek_loops, tilek_values); /* elimination_nest1 */
            if (tilek_stop) return tilek_stop;
        }
        {
            const tilek_bounds tilek_loops[] = {tilek_bounded(k + 1, n, 1, '<')};
            const void *const tilek_values[] = {&k};
            tilek_stop = tilek_step(tilek_run_, 1, tilek_loops, tilek_values); /* elimination_nest2 */
            if (tilek_stop) return tilek_stop;
        }
        if (k > 2) {
            const tilek_bounds tilek_loops[] = {tilek_bounded(0, n, 1, '<')};
            const void *const tilek_values[] = {&k};
            tilek_stop = tilek_step(tilek_run_, 2, tilek_loops, tilek_values); /* elimination_nest3 */
            if (tilek_stop) return tilek_stop;
        }
    }
    return 0;
}
