/* product: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
#pragma OPENCL FP_CONTRACT OFF
static inline long tilek_minimum(long a, long b) { return a < b ? a : b; }
/* The first instance of a group; the groups differ by at most one instance. */
static inline long tilek_stretch(long instances, long group, long groups)
{
    const long share = instances / groups, extra = instances % groups;
    return group * share + (group < extra ? group : extra);
}

#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_product
#define TILEK_ARGUMENTS_product
#endif
#define PRODUCT_TILES TILEK_ARGUMENTS_product
#else
#define PRODUCT_TILES , \
    const long i_trip, const long j_trip, const long i_count0, const long i_count2, const long j_count0, \
    const long j_count2, const long i_stride0, const long i_stride1, const long j_stride0, \
    const long j_stride1, const long gang0_count, const long gang1_count
#endif

__kernel __attribute__((reqd_work_group_size(1, 1, 1), min_vector_width(512))) void product(
    __global const float *restrict A, const long A_length1, __global const float *restrict B,
    const long B_length1, __global float *restrict C, const long C_length1, const int p PRODUCT_TILES)
{
    const long instances = gang0_count * gang1_count;
    const long first = tilek_stretch(instances, (long)get_group_id(0), (long)get_num_groups(0));
    const long last = tilek_stretch(instances, (long)get_group_id(0) + 1, (long)get_num_groups(0));
    for (long gang = first; gang < last; ++gang) {
        const long gang0 = gang % gang0_count;
        const long gang1 = gang / gang0_count;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i_gang = gang1 * i_stride1;
        const long j_gang = gang0 * j_stride1;
        for (long i_tile0 = 0; i_tile0 < i_count0 * i_stride0; i_tile0 += i_stride0) {
            for (long j_tile0 = 0; j_tile0 < j_count0 * j_stride0; j_tile0 += j_stride0) {
                const int i_end = tilek_minimum(i_gang + i_tile0 + i_count2, i_trip);
                for (int i = i_gang + i_tile0; i < i_end; ++i) {
                    const int j_end = tilek_minimum(j_gang + j_tile0 + j_count2, j_trip);
                    for (int j = j_gang + j_tile0; j < j_end; ++j) {
                        float total = C[(long)i * C_length1 + j];
                        for (int k = 0; k < p; ++k) {
                            total += A[(long)i * A_length1 + k] * B[(long)k * B_length1 + j];
                        }
                        C[(long)i * C_length1 + j] = total;
                    }
                }
            }
        }
    }
}
