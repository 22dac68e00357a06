/* conv: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
#pragma OPENCL FP_CONTRACT OFF
static inline long tilek_minimum(long a, long b) { return a < b ? a : b; }
/* The first instance of a group; the groups differ by at most one instance. */
static inline long tilek_stretch(long instances, long group, long groups)
{
    const long share = instances / groups, extra = instances % groups;
    return group * share + (group < extra ? group : extra);
}

#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_conv
#define TILEK_ARGUMENTS_conv
#endif
#define CONV_TILES TILEK_ARGUMENTS_conv
#else
#define CONV_TILES , \
    const long i_trip, const long j_trip, const long i_count1, const long i_count2, const long j_count1, \
    const long j_count2, const long i_stride0, const long i_stride1, const long j_stride0, \
    const long j_stride1, const long gang0_count, const long gang1_count
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1), min_vector_width(512))) void conv(
    __global const float *A, const long A_length1, __global float *B, const long B_lower0,
    const long B_lower1, const long B_length1 CONV_TILES)
{
    const long instances = gang0_count * gang1_count;
    const long first = tilek_stretch(instances, (long)get_group_id(0), (long)get_num_groups(0));
    const long last = tilek_stretch(instances, (long)get_group_id(0) + 1, (long)get_num_groups(0));
    for (long gang = first; gang < last; ++gang) {
        const long gang0 = gang % gang0_count;
        const long gang1 = gang / gang0_count;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i_gang = gang0 * i_stride0;
        const long j_gang = gang1 * j_stride0;
        for (long i_worker = 0; i_worker < i_count1 * i_stride1; i_worker += i_stride1) {
            const int i_end = 1 + tilek_minimum(i_gang + i_worker + i_count2, i_trip);
            for (int i = 1 + i_gang + i_worker; i < i_end; ++i) {
                for (long j_tile1 = 0; j_tile1 < j_count1 * j_stride1; j_tile1 += j_stride1) {
                    const int j_end = 1 + tilek_minimum(j_gang + j_tile1 + j_count2, j_trip);
#pragma clang loop vectorize_width(16) interleave_count(2)
                    for (int j = 1 + j_gang + j_tile1; j < j_end; ++j) {
                        B[((long)i - B_lower0) * B_length1 + (j - B_lower1)] =
                            A[(long)(i - 1) * A_length1 + j - 1] * 0.2f + A[(long)i * A_length1 + j] * 0.5f
                            + A[(long)(i + 1) * A_length1 + j] * -0.8f;
                    }
                }
            }
        }
    }
}
