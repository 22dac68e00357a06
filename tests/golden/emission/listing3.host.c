/* scale: loops i, j of example.c:4; instances are gangs. */
static void tilek_scale_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    const int64_t A_length1 = call->arrays[0].extent[1];
    float (*const A)[A_length1] = call->arrays[0].base;
    const float b = *(const float *)call->scalars[0];
    /* Tiles, by Algorithm 1. */
    const int64_t i_trip = call->loops[0]->trip;
    const int64_t j_trip = call->loops[1]->trip;
    const int64_t i_count1 = call->tiles[0][1].count;
    const int64_t i_count2 = call->tiles[0][2].count;
    const int64_t j_count1 = call->tiles[1][1].count;
    const int64_t j_count2 = call->tiles[1][2].count;
    const int64_t i_stride0 = call->tiles[0][0].stride;
    const int64_t i_stride1 = call->tiles[0][1].stride;
    const int64_t j_stride0 = call->tiles[1][0].stride;
    const int64_t j_stride1 = call->tiles[1][1].stride;
    const int64_t gang0_count = call->axes[1];
    for (int64_t gang = first; gang < last; ++gang) {
        const int64_t gang0 = gang % gang0_count;
        const int64_t gang1 = gang / gang0_count;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const int64_t i_gang = gang0 * i_stride0;
        const int64_t j_gang = gang1 * j_stride0;
        for (int64_t i_worker = 0; i_worker < i_count1 * i_stride1; i_worker += i_stride1) {
            const int i_end = tilek_minimum(i_gang + i_worker + i_count2, i_trip);
            for (int i = i_gang + i_worker; i < i_end; ++i) {
                for (int64_t j_worker = 0; j_worker < j_count1 * j_stride1; j_worker += j_stride1) {
                    const int j_end = tilek_minimum(j_gang + j_worker + j_count2, j_trip);
                    for (int j = j_gang + j_worker; j < j_end; ++j) {
#line 9 "example.c"
                        A[i][j] += b;
                    }
                }
            }
        }
    }
#line GENERATED
}
