/* conv: loops i, j of example.c:4; instances are gangs. */
static void tilek_conv_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    float **const A = call->arrays[0].base;
    float **const B = call->arrays[1].base;
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
            const int i_end = 1 + tilek_minimum(i_gang + i_worker + i_count2, i_trip);
            for (int i = 1 + i_gang + i_worker; i < i_end; ++i) {
                for (int64_t j_tile1 = 0; j_tile1 < j_count1 * j_stride1; j_tile1 += j_stride1) {
                    const int j_end = 1 + tilek_minimum(j_gang + j_tile1 + j_count2, j_trip);
                    for (int j = 1 + j_gang + j_tile1; j < j_end; ++j) {
#line 9 "example.c"
                        B[i][j] = A[i - 1][j - 1] * 0.2f + A[i][j] * 0.5f + A[i + 1][j] * -0.8f;
                    }
                }
            }
        }
    }
#line GENERATED
}
