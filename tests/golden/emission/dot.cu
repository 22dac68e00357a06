/* dot: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
static inline __device__ long long tilek_minimum(long long a, long long b) { return a < b ? a : b; }

#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_dot
#define TILEK_ARGUMENTS_dot
#endif
#define DOT_TILES TILEK_ARGUMENTS_dot
#define DOT_SLOTS (worker0_count)
#else
#define DOT_TILES , \
    const long long i_trip, const long long i_count1, const long long i_stride0, const long long i_stride1, \
    const long long gang0_count, const long long worker0_count
#define DOT_SLOTS 1024
#endif

extern "C" __global__ void dot(const float *x, const float *y, float *s_partials DOT_TILES)
{
    __shared__ float s_tree[DOT_SLOTS];
    const long long worker0 = (long long)threadIdx.x;
    /* The gangs of this group: more than one where the grid has fewer groups than there are gangs. */
    for (long long gang0 = (long long)blockIdx.x; gang0 < gang0_count; gang0 += (long long)gridDim.x) {
        float s = -0.0f;
        /* Where the distributed tiles of this instance begin, in iterations. */
        const long long i_gang = gang0 * i_stride0;
        const long long i_worker = worker0;
        const int i_end = tilek_minimum(i_gang + i_worker + i_count1 * i_stride1, i_trip);
        for (int i = i_gang + i_worker; i < i_end; i += i_stride1) {
            s += x[i] * y[i];
        }
        /* The gang's value: a tree over its workers, in an order that never varies. */
        {
            const long long workers = worker0_count;
            const long long worker = worker0;
            if (worker < DOT_SLOTS) {
                s_tree[worker] = s;
            }
            __syncthreads();
            for (long long turn = DOT_SLOTS; turn < workers; turn += DOT_SLOTS) {
                if (worker >= turn && worker < turn + DOT_SLOTS) {
                    s_tree[worker - turn] = s_tree[worker - turn] + s;
                }
                __syncthreads();
            }
            for (long long used = workers < DOT_SLOTS ? workers : DOT_SLOTS, remaining; used > 1;
                used = remaining) {
                remaining = (used + 1) / 2;
                if (worker < used - remaining) {
                    s_tree[worker] = s_tree[worker] + s_tree[worker + remaining];
                }
                __syncthreads();
            }
            if (worker == 0) {
                s_partials[gang0] = s_tree[0];
            }
            __syncthreads();
        }
    }
}
