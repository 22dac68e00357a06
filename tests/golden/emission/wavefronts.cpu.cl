/* wavefronts: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
static inline long tilek_minimum(long a, long b) { return a < b ? a : b; }
/* The first instance of a group; the groups differ by at most one instance. */
static inline long tilek_stretch(long instances, long group, long groups)
{
    const long share = instances / groups, extra = instances % groups;
    return group * share + (group < extra ? group : extra);
}

#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_wavefronts_tiles
#define TILEK_ARGUMENTS_wavefronts_tiles
#endif
#define WAVEFRONTS_TILES_TILES TILEK_ARGUMENTS_wavefronts_tiles
#else
#define WAVEFRONTS_TILES_TILES , const long t_size
#endif

/* One step of the host's loop over w: its gangs, tiles of iterations, run at once. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1), min_vector_width(512))) void wavefronts_tiles(
    __global double *A, const long A_length1, const int n, const long w, const long x_lower,
    const long x_trip, const long x_count1, const long x_stride0,
    const long gang0_count WAVEFRONTS_TILES_TILES)
{
    const long first = tilek_stretch(gang0_count, (long)get_group_id(0), (long)get_num_groups(0));
    const long last = tilek_stretch(gang0_count, (long)get_group_id(0) + 1, (long)get_num_groups(0));
    for (long gang0 = first; gang0 < last; ++gang0) {
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long x_gang = gang0 * x_stride0;
        const long x_end = x_lower + tilek_minimum(x_gang + x_count1, x_trip);
        for (long x = x_lower + x_gang; x < x_end; ++x) {
            for (long i = x * t_size; i < tilek_minimum(x * t_size + t_size, n); ++i) {
                for (long j = (w - x) * t_size; j < tilek_minimum((w - x) * t_size + t_size, n); ++j) {
                    A[(long)i * A_length1 + j] = A[(long)i * A_length1 + j] + A[(long)j * A_length1 + i];
                }
            }
        }
    }
}
