/* conv: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
#pragma OPENCL FP_CONTRACT OFF
/* The type of indices of arrays. */
#if defined(TILEK_SPECIALIZED) && tilek_index_bits == 32
typedef int tilek_index;
#else
typedef long tilek_index;
#endif
static inline long tilek_minimum(long a, long b) { return a < b ? a : b; }

#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_conv
#define TILEK_ARGUMENTS_conv
#endif
#define CONV_TILES TILEK_ARGUMENTS_conv
#else
#define CONV_TILES , \
    const long i_trip, const long j_trip, const long i_count2, const long j_count1, const long i_stride0, \
    const long i_stride1, const long j_stride0, const long j_stride1, const long gang0_count, \
    const long gang1_count, const long gang0_rounds, const long gang1_rounds, const long tilek_index_bits
#endif

__kernel void conv(
    __global const float *A, const long A_length1, __global float *B, const long B_lower0,
    const long B_lower1, const long B_length1 CONV_TILES)
{
    const long worker0 = (long)get_local_id(0);
    const long worker1 = (long)get_local_id(1);
    /* The gangs of this group: more than one where the grid has fewer groups than there are gangs. */
    for (long gang1 = (long)get_group_id(1); gang1_rounds == 1 || gang1 < gang1_count;
        gang1 += (long)get_num_groups(1)) {
        for (long gang0 = (long)get_group_id(0); gang0_rounds == 1 || gang0 < gang0_count;
            gang0 += (long)get_num_groups(0)) {
            /* Where the distributed tiles of this instance begin, in iterations. */
            const long i_gang = gang0 * i_stride0;
            const long i_worker = worker0 * i_stride1;
            const long j_gang = gang1 * j_stride0;
            const long j_worker = worker1;
            const int i_end = 1 + tilek_minimum(i_gang + i_worker + i_count2, i_trip);
            for (int i = (tilek_index)(i_gang + i_worker) + 1; i < i_end; ++i) {
                const int j_end = 1 + tilek_minimum(j_gang + j_worker + j_count1 * j_stride1, j_trip);
                for (int j = (tilek_index)(j_gang + j_worker) + 1; j < j_end; j += j_stride1) {
                    B[((tilek_index)i - B_lower0) * B_length1 + (j - B_lower1)] =
                        A[(tilek_index)(i - 1) * A_length1 + j - 1] * 0.2f
                        + A[(tilek_index)i * A_length1 + j] * 0.5f
                        + A[(tilek_index)(i + 1) * A_length1 + j] * -0.8f;
                }
            }
            if (gang0_rounds == 1) break;
        }
        if (gang1_rounds == 1) break;
    }
}
