/* elimination: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
/* The type of indices of arrays. */
#if defined(TILEK_SPECIALIZED) && tilek_index_bits == 32
typedef int tilek_index;
#else
typedef long tilek_index;
#endif
static inline long tilek_minimum(long a, long b) { return a < b ? a : b; }

#ifndef TILEK_WITHOUT_elimination_nest1
#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_elimination_nest1
#define TILEK_ARGUMENTS_elimination_nest1
#endif
#define ELIMINATION_NEST1_TILES TILEK_ARGUMENTS_elimination_nest1
#else
#define ELIMINATION_NEST1_TILES , const long A_length1, const long tilek_index_bits
#endif

/* One step of the host's loop over k: its gangs, tiles of iterations, run at once. */
__kernel void elimination_nest1(
    __global double *A, const int k, const long i1_lower, const long i1_trip, const long i1_count2,
    const long i1_stride0, const long i1_stride1, const long gang0_count_1,
    const long gang0_rounds_1 ELIMINATION_NEST1_TILES)
{
    const long worker0 = (long)get_local_id(0);
    /* The gangs of this group: more than one where the grid has fewer groups than there are gangs. */
    for (long gang0 = (long)get_group_id(0); gang0_rounds_1 == 1 || gang0 < gang0_count_1;
        gang0 += (long)get_num_groups(0)) {
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i1_gang = gang0 * i1_stride0;
        const long i1_worker = worker0 * i1_stride1;
        const int i1_end = i1_lower + tilek_minimum(i1_gang + i1_worker + i1_count2, i1_trip);
        for (int i = i1_lower + i1_gang + i1_worker; i < i1_end; ++i) {
            A[(tilek_index)i * A_length1 + k] /= A[(tilek_index)k * A_length1 + k];
        }
        if (gang0_rounds_1 == 1) break;
    }
}
#endif

#ifndef TILEK_WITHOUT_elimination_nest2
#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_elimination_nest2
#define TILEK_ARGUMENTS_elimination_nest2
#endif
#define ELIMINATION_NEST2_TILES TILEK_ARGUMENTS_elimination_nest2
#define ELIMINATION_NEST2_SLOTS (worker0_count_2)
#else
#define ELIMINATION_NEST2_TILES , \
    const long A_length1, const long worker0_count_2, const long tilek_index_bits
#define ELIMINATION_NEST2_SLOTS 1024
#endif

/* One step of the host's loop over k: its gangs, tiles of iterations, run at once. */
__kernel void elimination_nest2(
    __global double *A, const int k, __global double *s_partials, const long i2_lower, const long i2_trip,
    const long i2_count2, const long i2_stride0, const long i2_stride1,
    const long gang0_count_2 ELIMINATION_NEST2_TILES)
{
    __local double s_tree[ELIMINATION_NEST2_SLOTS];
    const long worker0 = (long)get_local_id(0);
    /* The gangs of this group: more than one where the grid has fewer groups than there are gangs. */
    for (long gang0 = (long)get_group_id(0); gang0 < gang0_count_2; gang0 += (long)get_num_groups(0)) {
        double s = -0.0;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i2_gang = gang0 * i2_stride0;
        const long i2_worker = worker0 * i2_stride1;
        const int i2_end = i2_lower + tilek_minimum(i2_gang + i2_worker + i2_count2, i2_trip);
        for (int i = i2_lower + i2_gang + i2_worker; i < i2_end; ++i) {
            s += A[(tilek_index)i * A_length1 + k];
        }
        /* The gang's value: a tree over its workers, in an order that never varies. */
        {
            const long workers = worker0_count_2;
            const long worker = worker0;
            if (worker < ELIMINATION_NEST2_SLOTS) {
                s_tree[worker] = s;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            for (long turn = ELIMINATION_NEST2_SLOTS; turn < workers; turn += ELIMINATION_NEST2_SLOTS) {
                if (worker >= turn && worker < turn + ELIMINATION_NEST2_SLOTS) {
                    s_tree[worker - turn] = s_tree[worker - turn] + s;
                }
                barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            }
            for (long used = workers < ELIMINATION_NEST2_SLOTS ? workers : ELIMINATION_NEST2_SLOTS,
                remaining; used > 1; used = remaining) {
                remaining = (used + 1) / 2;
                if (worker < used - remaining) {
                    s_tree[worker] = s_tree[worker] + s_tree[worker + remaining];
                }
                barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            }
            if (worker == 0) {
                s_partials[gang0] = s_tree[0];
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        }
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
    const long A_length1, const long i3_trip, const long i3_count2, const long i3_stride0, \
    const long i3_stride1, const long gang0_count_3, const long gang0_rounds_3, const long tilek_index_bits
#endif

/* One step of the host's loop over k: its gangs, tiles of iterations, run at once. */
__kernel void elimination_nest3(__global double *A, const int k ELIMINATION_NEST3_TILES)
{
    const long worker0 = (long)get_local_id(0);
    /* The gangs of this group: more than one where the grid has fewer groups than there are gangs. */
    for (long gang0 = (long)get_group_id(0); gang0_rounds_3 == 1 || gang0 < gang0_count_3;
        gang0 += (long)get_num_groups(0)) {
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i3_gang = gang0 * i3_stride0;
        const long i3_worker = worker0 * i3_stride1;
        const int i3_end = tilek_minimum(i3_gang + i3_worker + i3_count2, i3_trip);
        for (int i = i3_gang + i3_worker; i < i3_end; ++i) {
            A[(tilek_index)i * A_length1] = A[(tilek_index)i * A_length1 + k];
        }
        if (gang0_rounds_3 == 1) break;
    }
}
#endif
