/* dot: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
#pragma OPENCL FP_CONTRACT OFF
static inline long tilek_minimum(long a, long b) { return a < b ? a : b; }

#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_dot
#define TILEK_ARGUMENTS_dot
#endif
#define DOT_TILES TILEK_ARGUMENTS_dot
#define DOT_SLOTS (worker0_count)
#else
#define DOT_TILES , \
    const long i_trip, const long i_count1, const long i_stride0, const long i_stride1, \
    const long gang0_count, const long worker0_count
#define DOT_SLOTS 1024
#endif

__kernel void dot(__global const float *x, __global const float *y, __global float *s_partials DOT_TILES)
{
    __local float s_tree[DOT_SLOTS];
    const long worker0 = (long)get_local_id(0);
    /* The gangs of this group: more than one where the grid has fewer groups than there are gangs. */
    for (long gang0 = (long)get_group_id(0); gang0 < gang0_count; gang0 += (long)get_num_groups(0)) {
        float s = -0.0f;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long i_gang = gang0 * i_stride0;
        const long i_worker = worker0;
        const int i_end = tilek_minimum(i_gang + i_worker + i_count1 * i_stride1, i_trip);
        for (int i = i_gang + i_worker; i < i_end; i += i_stride1) {
            s += x[i] * y[i];
        }
        /* The gang's value: a tree over its workers, in an order that never varies. */
        {
            const long workers = worker0_count;
            const long worker = worker0;
            if (worker < DOT_SLOTS) {
                s_tree[worker] = s;
            }
            barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            for (long turn = DOT_SLOTS; turn < workers; turn += DOT_SLOTS) {
                if (worker >= turn && worker < turn + DOT_SLOTS) {
                    s_tree[worker - turn] = s_tree[worker - turn] + s;
                }
                barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
            }
            for (long used = workers < DOT_SLOTS ? workers : DOT_SLOTS, remaining; used > 1;
                used = remaining) {
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
