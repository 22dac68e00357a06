/* scale: loops i, j of example.c:4; instances are threads. */
static void tilek_scale_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    const int64_t A_length1 = call->arrays[0].extent[1];
    float (*const A)[A_length1] = call->arrays[0].base;
    const float b = *(const float *)call->scalars[0];
    /* Tiles, by Algorithm 1. */
    const int64_t i_trip = call->loops[0]->trip;
    const int64_t j_trip = call->loops[1]->trip;
    const int64_t i_count1 = call->tiles[0][1].count;
    const int64_t i_stride0 = call->tiles[0][0].stride;
    for (int64_t thread = first; thread < last; ++thread) {
        /* Where the distributed tiles of this instance begin, in iterations. */
        const int64_t i_thread = thread * i_stride0;
        const int i_end = tilek_minimum(i_thread + i_count1, i_trip);
        for (int i = i_thread; i < i_end; ++i) {
            const int j_end = j_trip;
            for (int j = 0; j < j_end; ++j) {
#line 9 "example.c"
                A[i][j] += b;
            }
        }
    }
#line GENERATED
}
