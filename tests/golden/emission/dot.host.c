/* dot: loops i of example.c:4; instances are gangs. */
static void tilek_dot_host(const tilek_host_call *call, int64_t first, int64_t last)
{
    float *const x = call->arrays[0].base;
    float *const y = call->arrays[1].base;
    /* Tiles, by Algorithm 1. */
    const int64_t i_trip = call->loops[0]->trip;
    const int64_t i_count1 = call->tiles[0][1].count;
    const int64_t i_count2 = call->tiles[0][2].count;
    const int64_t i_stride0 = call->tiles[0][0].stride;
    const int64_t i_stride1 = call->tiles[0][1].stride;
    for (int64_t gang0 = first; gang0 < last; ++gang0) {
        float s = -0.0f;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const int64_t i_gang = gang0 * i_stride0;
        for (int64_t i_tile1 = 0; i_tile1 < i_count1 * i_stride1; i_tile1 += i_stride1) {
            const int i_end = tilek_minimum(i_gang + i_tile1 + i_count2, i_trip);
            for (int i = i_gang + i_tile1; i < i_end; ++i) {
#line 9 "example.c"
                s += x[i] * y[i];
            }
        }
#line GENERATED
        ((float *)call->partials[0])[gang0] = s;
    }
}
