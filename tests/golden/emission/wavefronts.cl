/* wavefronts: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
/* The type of indices of arrays. */
#if defined(TILEK_SPECIALIZED) && tilek_index_bits == 32
typedef int tilek_index;
#else
typedef long tilek_index;
#endif
static inline long tilek_minimum(long a, long b) { return a < b ? a : b; }

#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_wavefronts_tiles
#define TILEK_ARGUMENTS_wavefronts_tiles
#endif
#define WAVEFRONTS_TILES_TILES TILEK_ARGUMENTS_wavefronts_tiles
#else
#define WAVEFRONTS_TILES_TILES , const long A_length1, const long t_size, const long tilek_index_bits
#endif

/* One step of the host's loop over w: its gangs, tiles of iterations, run at once. */
__kernel void wavefronts_tiles(
    __global double *A, const int n, const long w, const long x_lower, const long x_trip, const long x_count1,
    const long x_stride0, const long gang0_count, const long gang0_rounds WAVEFRONTS_TILES_TILES)
{
    /* The gangs of this group: more than one where the grid has fewer groups than there are gangs. */
    for (long gang0 = (long)get_group_id(0); gang0_rounds == 1 || gang0 < gang0_count;
        gang0 += (long)get_num_groups(0)) {
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long x_gang = gang0 * x_stride0;
        const long x_end = x_lower + tilek_minimum(x_gang + x_count1, x_trip);
        for (long x = x_lower + x_gang; x < x_end; ++x) {
            for (long i = x * t_size; i < tilek_minimum(x * t_size + t_size, n); ++i) {
                for (long j = (w - x) * t_size; j < tilek_minimum((w - x) * t_size + t_size, n); ++j) {
                    A[(tilek_index)i * A_length1 + j] = A[(tilek_index)i * A_length1 + j]
                        + A[(tilek_index)j * A_length1 + i];
                }
            }
        }
        if (gang0_rounds == 1) break;
    }
}
