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
    const long long A_length1, const long long i_trip, const long long j_trip, const long long i_count0, \
    const long long i_count1, const long long j_count0, const long long j_count1, const long long i_stride0, \
    const long long j_stride0, const long long tilek_index_bits
#endif

extern "C" __global__ void scale(float *A, const float b SCALE_TILES)
{
    for (long long i_tile0 = 0; i_tile0 < i_count0 * i_stride0; i_tile0 += i_stride0) {
        for (long long j_tile0 = 0; j_tile0 < j_count0 * j_stride0; j_tile0 += j_stride0) {
            const int i_end = tilek_minimum(i_tile0 + i_count1, i_trip);
            for (int i = i_tile0; i < i_end; ++i) {
                const int j_end = tilek_minimum(j_tile0 + j_count1, j_trip);
                for (int j = j_tile0; j < j_end; ++j) {
                    A[(tilek_index)i * A_length1 + j] += b;
                }
            }
        }
    }
}
