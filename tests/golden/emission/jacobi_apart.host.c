/* jacobi_nest1: loops i, j of example.c:4; instances are gangs. */
static void tilek_jacobi_nest1_host_apart(
    const tilek_host_call *call, int64_t first, int64_t last, const int64_t A_length1,
    float (*restrict const A)[A_length1], const int64_t B_length1, float (*restrict const B)[B_length1])
{
    /* Tiles, by Algorithm 1. */
    const int64_t i1_trip = call->loops[0]->trip;
    const int64_t j1_trip = call->loops[1]->trip;
    const int64_t i1_count1 = call->tiles[0][1].count;
    const int64_t i1_count2 = call->tiles[0][2].count;
    const int64_t j1_count1 = call->tiles[1][1].count;
    const int64_t j1_count2 = call->tiles[1][2].count;
    const int64_t i1_stride0 = call->tiles[0][0].stride;
    const int64_t i1_stride1 = call->tiles[0][1].stride;
    const int64_t j1_stride0 = call->tiles[1][0].stride;
    const int64_t j1_stride1 = call->tiles[1][1].stride;
    const int64_t gang0_count_1 = call->axes[1];
    for (int64_t gang = first; gang < last; ++gang) {
        const int64_t gang0 = gang % gang0_count_1;
        const int64_t gang1 = gang / gang0_count_1;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const int64_t i1_gang = gang0 * i1_stride0;
        const int64_t j1_gang = gang1 * j1_stride0;
        for (int64_t i1_worker = 0; i1_worker < i1_count1 * i1_stride1; i1_worker += i1_stride1) {
            const int i1_end = 1 + tilek_minimum(i1_gang + i1_worker + i1_count2, i1_trip);
            for (int i = 1 + i1_gang + i1_worker; i < i1_end; ++i) {
                for (int64_t j1_worker = 0; j1_worker < j1_count1 * j1_stride1; j1_worker += j1_stride1) {
                    const int j1_end = 1 + tilek_minimum(j1_gang + j1_worker + j1_count2, j1_trip);
                    for (int j = 1 + j1_gang + j1_worker; j < j1_end; ++j) {
#line 9 "example.c"
                        B[i][j] = A[i][j - 1] * 0.5f;
                    }
                }
            }
        }
    }
#line GENERATED
}

/* The launch has checked that no written array overlaps another. */
static void tilek_jacobi_nest1_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    tilek_jacobi_nest1_host_apart(call, first, last, call->arrays[0].extent[1], call->arrays[0].base,
        call->arrays[1].extent[1], call->arrays[1].base);
}

/* jacobi_nest2: loops i, j of example.c:4; instances are gangs. */
static void tilek_jacobi_nest2_host_apart(
    const tilek_host_call *call, int64_t first, int64_t last, const int64_t A_length1,
    float (*restrict const A)[A_length1], const int64_t B_length1, float (*restrict const B)[B_length1])
{
    const int t = *(const int *)call->values[0];
    /* Tiles, by Algorithm 1. */
    const int64_t i3_trip = call->loops[0]->trip;
    const int64_t j3_trip = call->loops[1]->trip;
    const int64_t i3_count1 = call->tiles[0][1].count;
    const int64_t i3_count2 = call->tiles[0][2].count;
    const int64_t j3_count1 = call->tiles[1][1].count;
    const int64_t j3_count2 = call->tiles[1][2].count;
    const int64_t i3_stride0 = call->tiles[0][0].stride;
    const int64_t i3_stride1 = call->tiles[0][1].stride;
    const int64_t j3_stride0 = call->tiles[1][0].stride;
    const int64_t j3_stride1 = call->tiles[1][1].stride;
    const int64_t gang0_count_2 = call->axes[1];
    for (int64_t gang = first; gang < last; ++gang) {
        const int64_t gang0 = gang % gang0_count_2;
        const int64_t gang1 = gang / gang0_count_2;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const int64_t i3_gang = gang0 * i3_stride0;
        const int64_t j3_gang = gang1 * j3_stride0;
        for (int64_t i3_worker = 0; i3_worker < i3_count1 * i3_stride1; i3_worker += i3_stride1) {
            const int i3_end = 1 + tilek_minimum(i3_gang + i3_worker + i3_count2, i3_trip);
            for (int i = 1 + i3_gang + i3_worker; i < i3_end; ++i) {
                for (int64_t j3_worker = 0; j3_worker < j3_count1 * j3_stride1; j3_worker += j3_stride1) {
                    const int j3_end = 1 + tilek_minimum(j3_gang + j3_worker + j3_count2, j3_trip);
                    for (int j = 1 + j3_gang + j3_worker; j < j3_end; ++j) {
#line 9 "example.c"
                        A[i][j] = B[i][j + 1] * 0.5f + t;
                    }
                }
            }
        }
    }
#line GENERATED
}

/* The launch has checked that no written array overlaps another. */
static void tilek_jacobi_nest2_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    tilek_jacobi_nest2_host_apart(call, first, last, call->arrays[0].extent[1], call->arrays[0].base,
        call->arrays[1].extent[1], call->arrays[1].base);
}

/* jacobi: the order of its launches, example.c:4. */
static int tilek_jacobi_host_steps(struct tilek_run *tilek_run_, const tilek_call *tilek_call_)
{
    const int steps = *(const int *)tilek_call_->scalars[0];
    const int n = *(const int *)tilek_call_->scalars[1];
    int tilek_stop;
    for (int t = 0; t < steps; ++t) {
        {
            const tilek_bounds tilek_loops[] =
                {tilek_bounded(1, n - 1, 1, '<'), tilek_bounded(1, n - 1, 1, '<')};
            tilek_stop = tilek_step(tilek_run_, 0, tilek_loops, NULL); /* jacobi_nest1 */
            if (tilek_stop) return tilek_stop;
        }
        {
            const tilek_bounds tilek_loops[] =
                {tilek_bounded(1, n - 1, 1, '<'), tilek_bounded(1, n - 1, 1, '<')};
            const void *const tilek_values[] = {&t};
            tilek_stop = tilek_step(tilek_run_, 1, tilek_loops, tilek_values); /* jacobi_nest2 */
            if (tilek_stop) return tilek_stop;
        }
    }
    return 0;
}
