/* scale: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
/* The type of indices of arrays. */
#if defined(TILEK_SPECIALIZED) && tilek_index_bits == 32
typedef int tilek_index;
#else
typedef long long tilek_index;
#endif
static inline __device__ long long tilek_minimum(long long a, long long b) { return a < b ? a : b; }

#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_scale
#define TILEK_ARGUMENTS_scale
#endif
#define SCALE_TILES TILEK_ARGUMENTS_scale
#else
#define SCALE_TILES , \
    const long long A_length1, const long long i_trip, const long long j_trip, const long long i_count1, \
    const long long i_stride0, const long long thread_count, const long long thread_rounds, \
    const long long tilek_index_bits
#endif

extern "C" __global__ void scale(float *A, const float b SCALE_TILES)
{
    /* The threads of this group: more than one where the grid has fewer groups than there are threads. */
    for (long long thread = (long long)blockIdx.x; thread_rounds == 1 || thread < thread_count;
        thread += (long long)gridDim.x) {
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long long i_thread = thread * i_stride0;
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
