/* elimination: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
static inline long tilek_minimum(long a, long b) { return a < b ? a : b; }
/* The first instance of a group; the groups differ by at most one instance. */
static inline long tilek_stretch(long instances, long group, long groups)
{
    const long share = instances / groups, extra = instances % groups;
    return group * share + (group < extra ? group : extra);
}

#ifndef TILEK_WITHOUT_elimination_nest1
#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_elimination_nest1
#define TILEK_ARGUMENTS_elimination_nest1
#endif
#define ELIMINATION_NEST1_TILES TILEK_ARGUMENTS_elimination_nest1
#else
#define ELIMINATION_NEST1_TILES , const long i1_count1
#endif

/* One step of the host's loop over k: its gangs, tiles of iterations, run at once. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1), min_vector_width(512))) void elimination_nest1(
    __global double *A, const long A_length1, const int k, const long i1_lower, const long i1_trip,
    const long i1_count2, const long i1_stride0, const long i1_stride1,
    const long gang0_count_1 ELIMINATION_NEST1_TILES)
{
    const long first = tilek_stretch(gang0_count_1, (long)get_group_id(0), (long)get_num_groups(0));
    const long last = tilek_stretch(gang0_count_1, (long)get_group_id(0) + 1, (long)get_num_groups(0));
    for (long gang0 = first; gang0 < last; ++gang0) {
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i1_gang = gang0 * i1_stride0;
        for (long i1_worker = 0; i1_worker < i1_count1 * i1_stride1; i1_worker += i1_stride1) {
            const int i1_end = i1_lower + tilek_minimum(i1_gang + i1_worker + i1_count2, i1_trip);
            for (int i = i1_lower + i1_gang + i1_worker; i < i1_end; ++i) {
                A[(long)i * A_length1 + k] /= A[(long)k * A_length1 + k];
            }
        }
    }
}
#endif

#ifndef TILEK_WITHOUT_elimination_nest2
#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_elimination_nest2
#define TILEK_ARGUMENTS_elimination_nest2
#endif
#define ELIMINATION_NEST2_TILES TILEK_ARGUMENTS_elimination_nest2
#else
#define ELIMINATION_NEST2_TILES , const long i2_count1
#endif

/* One step of the host's loop over k: its gangs, tiles of iterations, run at once. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1), min_vector_width(512))) void elimination_nest2(
    __global double *A, const long A_length1, const int k, __global double *s_partials, const long i2_lower,
    const long i2_trip, const long i2_count2, const long i2_stride0, const long i2_stride1,
    const long gang0_count_2 ELIMINATION_NEST2_TILES)
{
    const long first = tilek_stretch(gang0_count_2, (long)get_group_id(0), (long)get_num_groups(0));
    const long last = tilek_stretch(gang0_count_2, (long)get_group_id(0) + 1, (long)get_num_groups(0));
    for (long gang0 = first; gang0 < last; ++gang0) {
        double s = -0.0;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i2_gang = gang0 * i2_stride0;
        for (long i2_worker = 0; i2_worker < i2_count1 * i2_stride1; i2_worker += i2_stride1) {
            const int i2_end = i2_lower + tilek_minimum(i2_gang + i2_worker + i2_count2, i2_trip);
            for (int i = i2_lower + i2_gang + i2_worker; i < i2_end; ++i) {
                s += A[(long)i * A_length1 + k];
            }
        }
        s_partials[gang0] = s;
    }
}
#endif

#ifndef TILEK_WITHOUT_elimination_nest3
#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_elimination_nest3
#define TILEK_ARGUMENTS_elimination_nest3
#endif
#define ELIMINATION_NEST3_TILES TILEK_ARGUMENTS_elimination_nest3
#else
#define ELIMINATION_NEST3_TILES , \
    const long i3_trip, const long i3_count1, const long i3_count2, const long i3_stride0, \
    const long i3_stride1, const long gang0_count_3
#endif

/* One step of the host's loop over k: its gangs, tiles of iterations, run at once. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1), min_vector_width(512))) void elimination_nest3(
    __global double *A, const long A_length1, const int k ELIMINATION_NEST3_TILES)
{
    const long first = tilek_stretch(gang0_count_3, (long)get_group_id(0), (long)get_num_groups(0));
    const long last = tilek_stretch(gang0_count_3, (long)get_group_id(0) + 1, (long)get_num_groups(0));
    for (long gang0 = first; gang0 < last; ++gang0) {
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i3_gang = gang0 * i3_stride0;
        for (long i3_worker = 0; i3_worker < i3_count1 * i3_stride1; i3_worker += i3_stride1) {
            const int i3_end = tilek_minimum(i3_gang + i3_worker + i3_count2, i3_trip);
            for (int i = i3_gang + i3_worker; i < i3_end; ++i) {
                A[(long)i * A_length1] = A[(long)i * A_length1 + k];
            }
        }
    }
}
#endif
