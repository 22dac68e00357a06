/* dot: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
#pragma OPENCL FP_CONTRACT OFF
static inline long tilek_minimum(long a, long b) { return a < b ? a : b; }
/* The first instance of a group; the groups differ by at most one instance. */
static inline long tilek_stretch(long instances, long group, long groups)
{
    const long share = instances / groups, extra = instances % groups;
    return group * share + (group < extra ? group : extra);
}

#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_dot
#define TILEK_ARGUMENTS_dot
#endif
#define DOT_TILES TILEK_ARGUMENTS_dot
#else
#define DOT_TILES , \
    const long i_trip, const long i_count1, const long i_count2, const long i_stride0, const long i_stride1, \
    const long gang0_count
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1), min_vector_width(512))) void dot(
    __global const float *x, __global const float *y, __global float *s_partials DOT_TILES)
{
    const long first = tilek_stretch(gang0_count, (long)get_group_id(0), (long)get_num_groups(0));
    const long last = tilek_stretch(gang0_count, (long)get_group_id(0) + 1, (long)get_num_groups(0));
    for (long gang0 = first; gang0 < last; ++gang0) {
        float s = -0.0f;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i_gang = gang0 * i_stride0;
        for (long i_tile1 = 0; i_tile1 < i_count1 * i_stride1; i_tile1 += i_stride1) {
            const int i_end = tilek_minimum(i_gang + i_tile1 + i_count2, i_trip);
            for (int i = i_gang + i_tile1; i < i_end; ++i) {
                s += x[i] * y[i];
            }
        }
        s_partials[gang0] = s;
    }
}
