/* product: loops i, j of example.c:4; instances are gangs. */
static void tilek_product_host_apart(
    const tilek_host_call *call, int64_t first, int64_t last, const int64_t A_length1,
    float (*restrict const A)[A_length1], const int64_t B_length1, float (*restrict const B)[B_length1],
    const int64_t C_length1, float (*restrict const C)[C_length1])
{
    const int p = *(const int *)call->scalars[2];
    /* Tiles, by Algorithm 1. */
    const int64_t i_trip = call->loops[0]->trip;
    const int64_t j_trip = call->loops[1]->trip;
    const int64_t i_count0 = call->tiles[0][0].count;
    const int64_t i_count2 = call->tiles[0][2].count;
    const int64_t j_count0 = call->tiles[1][0].count;
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
        const int64_t i_gang = gang1 * i_stride1;
        const int64_t j_gang = gang0 * j_stride1;
        for (int64_t i_tile0 = 0; i_tile0 < i_count0 * i_stride0; i_tile0 += i_stride0) {
            for (int64_t j_tile0 = 0; j_tile0 < j_count0 * j_stride0; j_tile0 += j_stride0) {
                const int i_end = tilek_minimum(i_gang + i_tile0 + i_count2, i_trip);
                for (int i = i_gang + i_tile0; i < i_end; ++i) {
                    const int j_end = tilek_minimum(j_gang + j_tile0 + j_count2, j_trip);
                    for (int j = j_gang + j_tile0; j < j_end; ++j) {
#line 8 "example.c"
                        float total = C[i][j];
#line 7 "example.c"
                        for (int k = 0; k < p; ++k) {
#line 9 "example.c"
                            total += A[i][k] * B[k][j];
                        }
#line 9 "example.c"
                        C[i][j] = total;
                    }
                }
            }
        }
    }
#line GENERATED
}

/* The launch has checked that no written array overlaps another. */
static void tilek_product_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    tilek_product_host_apart(call, first, last, call->arrays[0].extent[1], call->arrays[0].base,
        call->arrays[1].extent[1], call->arrays[1].base, call->arrays[2].extent[1], call->arrays[2].base);
}
