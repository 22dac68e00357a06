/* jacobi: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
#pragma OPENCL FP_CONTRACT OFF
static inline long tilek_minimum(long a, long b) { return a < b ? a : b; }
/* The first instance of a group; the groups differ by at most one instance. */
static inline long tilek_stretch(long instances, long group, long groups)
{
    const long share = instances / groups, extra = instances % groups;
    return group * share + (group < extra ? group : extra);
}

#ifndef TILEK_WITHOUT_jacobi_nest1
#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_jacobi_nest1
#define TILEK_ARGUMENTS_jacobi_nest1
#endif
#define JACOBI_NEST1_TILES TILEK_ARGUMENTS_jacobi_nest1
#else
#define JACOBI_NEST1_TILES , \
    const long i1_trip, const long j1_trip, const long i1_count1, const long i1_count2, const long j1_count1, \
    const long j1_count2, const long i1_stride0, const long i1_stride1, const long j1_stride0, \
    const long j1_stride1, const long gang0_count_1, const long gang1_count_1
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1), min_vector_width(512))) void jacobi_nest1(
    __global float *A, const long A_length1, __global float *B, const long B_length1 JACOBI_NEST1_TILES)
{
    const long instances = gang0_count_1 * gang1_count_1;
    const long first = tilek_stretch(instances, (long)get_group_id(0), (long)get_num_groups(0));
    const long last = tilek_stretch(instances, (long)get_group_id(0) + 1, (long)get_num_groups(0));
    for (long gang = first; gang < last; ++gang) {
        const long gang0 = gang % gang0_count_1;
        const long gang1 = gang / gang0_count_1;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i1_gang = gang0 * i1_stride0;
        const long j1_gang = gang1 * j1_stride0;
        for (long i1_worker = 0; i1_worker < i1_count1 * i1_stride1; i1_worker += i1_stride1) {
            const int i1_end = 1 + tilek_minimum(i1_gang + i1_worker + i1_count2, i1_trip);
            for (int i = 1 + i1_gang + i1_worker; i < i1_end; ++i) {
                for (long j1_worker = 0; j1_worker < j1_count1 * j1_stride1; j1_worker += j1_stride1) {
                    const int j1_end = 1 + tilek_minimum(j1_gang + j1_worker + j1_count2, j1_trip);
#pragma clang loop vectorize_width(16) interleave_count(2)
                    for (int j = 1 + j1_gang + j1_worker; j < j1_end; ++j) {
                        B[(long)i * B_length1 + j] = A[(long)i * A_length1 + j - 1] * 0.5f;
                    }
                }
            }
        }
    }
}
#endif

#ifndef TILEK_WITHOUT_jacobi_nest2
#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_jacobi_nest2
#define TILEK_ARGUMENTS_jacobi_nest2
#endif
#define JACOBI_NEST2_TILES TILEK_ARGUMENTS_jacobi_nest2
#else
#define JACOBI_NEST2_TILES , \
    const long i3_trip, const long j3_trip, const long i3_count1, const long i3_count2, const long j3_count1, \
    const long j3_count2, const long i3_stride0, const long i3_stride1, const long j3_stride0, \
    const long j3_stride1, const long gang0_count_2, const long gang1_count_2
#endif

/* One step of the host's loop over t: its gangs, tiles of iterations, run at once. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1), min_vector_width(512))) void jacobi_nest2(
    __global float *A, const long A_length1, __global float *B, const long B_length1,
    const int t JACOBI_NEST2_TILES)
{
    const long instances = gang0_count_2 * gang1_count_2;
    const long first = tilek_stretch(instances, (long)get_group_id(0), (long)get_num_groups(0));
    const long last = tilek_stretch(instances, (long)get_group_id(0) + 1, (long)get_num_groups(0));
    for (long gang = first; gang < last; ++gang) {
        const long gang0 = gang % gang0_count_2;
        const long gang1 = gang / gang0_count_2;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i3_gang = gang0 * i3_stride0;
        const long j3_gang = gang1 * j3_stride0;
        for (long i3_worker = 0; i3_worker < i3_count1 * i3_stride1; i3_worker += i3_stride1) {
            const int i3_end = 1 + tilek_minimum(i3_gang + i3_worker + i3_count2, i3_trip);
            for (int i = 1 + i3_gang + i3_worker; i < i3_end; ++i) {
                for (long j3_worker = 0; j3_worker < j3_count1 * j3_stride1; j3_worker += j3_stride1) {
                    const int j3_end = 1 + tilek_minimum(j3_gang + j3_worker + j3_count2, j3_trip);
#pragma clang loop vectorize_width(16) interleave_count(2)
                    for (int j = 1 + j3_gang + j3_worker; j < j3_end; ++j) {
                        A[(long)i * A_length1 + j] = B[(long)i * B_length1 + j + 1] * 0.5f + t;
                    }
                }
            }
        }
    }
}
#endif
