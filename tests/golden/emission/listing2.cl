/* scale: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
#pragma OPENCL FP_CONTRACT OFF
/* The type of indices of arrays. */
#if defined(TILEK_SPECIALIZED) && tilek_index_bits == 32
typedef int tilek_index;
#else
typedef long tilek_index;
#endif
static inline long tilek_minimum(long a, long b) { return a < b ? a : b; }

#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_scale
#define TILEK_ARGUMENTS_scale
#endif
#define SCALE_TILES TILEK_ARGUMENTS_scale
#else
#define SCALE_TILES , \
    const long A_length1, const long i_trip, const long j_trip, const long i_count1, const long i_stride0, \
    const long thread_count, const long thread_rounds, const long tilek_index_bits
#endif

__kernel void scale(__global float *A, const float b SCALE_TILES)
{
    /* The threads of this group: more than one where the grid has fewer groups than there are threads. */
    for (long thread = (long)get_group_id(0); thread_rounds == 1 || thread < thread_count;
        thread += (long)get_num_groups(0)) {
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i_thread = thread * i_stride0;
        const int i_end = tilek_minimum(i_thread + i_count1, i_trip);
        for (int i = i_thread; i < i_end; ++i) {
            const int j_end = j_trip;
            for (int j = 0; j < j_end; ++j) {
                A[(tilek_index)i * A_length1 + j] += b;
            }
        }
        if (thread_rounds == 1) break;
    }
}
