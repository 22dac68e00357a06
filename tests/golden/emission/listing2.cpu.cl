/* scale: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
#pragma OPENCL FP_CONTRACT OFF
static inline long tilek_minimum(long a, long b) { return a < b ? a : b; }
/* The first instance of a group; the groups differ by at most one instance. */
static inline long tilek_stretch(long instances, long group, long groups)
{
    const long share = instances / groups, extra = instances % groups;
    return group * share + (group < extra ? group : extra);
}

#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_scale
#define TILEK_ARGUMENTS_scale
#endif
#define SCALE_TILES TILEK_ARGUMENTS_scale
#else
#define SCALE_TILES , \
    const long i_trip, const long j_trip, const long i_count1, const long i_stride0, const long thread_count
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1), min_vector_width(512))) void scale(
    __global float *A, const long A_length1, const float b SCALE_TILES)
{
    const long first = tilek_stretch(thread_count, (long)get_group_id(0), (long)get_num_groups(0));
    const long last = tilek_stretch(thread_count, (long)get_group_id(0) + 1, (long)get_num_groups(0));
    for (long thread = first; thread < last; ++thread) {
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i_thread = thread * i_stride0;
        const int i_end = tilek_minimum(i_thread + i_count1, i_trip);
        for (int i = i_thread; i < i_end; ++i) {
            const int j_end = j_trip;
#pragma clang loop vectorize_width(16) interleave_count(2)
            for (int j = 0; j < j_end; ++j) {
                A[(long)i * A_length1 + j] += b;
            }
        }
    }
}
