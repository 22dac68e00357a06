/* triangle: loops i, j of example.c:4; instances are gangs. */
static void tilek_triangle_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    float (*const A)[100] = call->arrays[0].base;
    const int n = *(const int *)call->scalars[0];
    /* Tiles, by Algorithm 1. */
    const int64_t i_trip = call->loops[0]->trip;
    const int64_t i_count1 = call->tiles[0][1].count;
    const int64_t i_count2 = call->tiles[0][2].count;
    const int64_t i_stride0 = call->tiles[0][0].stride;
    const int64_t i_stride1 = call->tiles[0][1].stride;
    const int64_t gang0_count = call->axes[1];
    const int64_t gang1_count = call->axes[2];
    for (int64_t gang = first; gang < last; ++gang) {
        const int64_t gang0 = gang % gang0_count;
        const int64_t gang1 = gang / gang0_count;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const int64_t i_gang = gang0 * i_stride0;
        for (int64_t i_worker = 0; i_worker < i_count1 * i_stride1; i_worker += i_stride1) {
            const int i_end = tilek_minimum(i_gang + i_worker + i_count2, i_trip);
            for (int i = i_gang + i_worker; i < i_end; ++i) {
                /* Tiles of j, by Algorithm 1; its bounds depend on the loops around it. */
                const int64_t j_lower = i;
                const int64_t j_trip = tilek_maximum(0, tilek_ceiling_quotient((int64_t)n - j_lower + 1, 2));
                const int64_t j_count2 = tilek_ceiling_quotient(j_trip, gang1_count * 3);
                const int64_t j_stride1 = j_count2;
                const int64_t j_count1 = 3;
                const int64_t j_stride0 = j_count1 * j_stride1;
                const int64_t j_gang = gang1 * j_stride0;
                for (int64_t j_tile1 = 0; j_tile1 < j_count1 * j_stride1; j_tile1 += j_stride1) {
                    const int j_end = j_lower + 2 * tilek_minimum(j_gang + j_tile1 + j_count2, j_trip);
                    for (int j = j_lower + 2 * (j_gang + j_tile1); j < j_end; j += 2) {
#line 9 "example.c"
                        A[i][j] = 1.0f;
                    }
                }
            }
        }
    }
#line GENERATED
}
