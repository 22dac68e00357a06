/* scale: loops i, j of example.c:4; there is one instance. */
static void tilek_scale_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    const int64_t A_length1 = call->arrays[0].extent[1];
    float (*const A)[A_length1] = call->arrays[0].base;
    const float b = *(const float *)call->scalars[0];
    /* Tiles, by Algorithm 1. */
    const int64_t i_trip = call->loops[0]->trip;
    const int64_t j_trip = call->loops[1]->trip;
    const int64_t i_count0 = call->tiles[0][0].count;
    const int64_t i_count1 = call->tiles[0][1].count;
    const int64_t j_count0 = call->tiles[1][0].count;
    const int64_t j_count1 = call->tiles[1][1].count;
    const int64_t i_stride0 = call->tiles[0][0].stride;
    const int64_t j_stride0 = call->tiles[1][0].stride;
    (void)first, (void)last;
    for (int64_t i_tile0 = 0; i_tile0 < i_count0 * i_stride0; i_tile0 += i_stride0) {
        for (int64_t j_tile0 = 0; j_tile0 < j_count0 * j_stride0; j_tile0 += j_stride0) {
            const int i_end = tilek_minimum(i_tile0 + i_count1, i_trip);
            for (int i = i_tile0; i < i_end; ++i) {
                const int j_end = tilek_minimum(j_tile0 + j_count1, j_trip);
                for (int j = j_tile0; j < j_end; ++j) {
#line 9 "example.c"
                    A[i][j] += b;
                }
            }
        }
    }
#line GENERATED
}
