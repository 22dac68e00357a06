/* jacobi: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */
/* The type of indices of arrays. */
#if defined(TILEK_SPECIALIZED) && tilek_index_bits == 32
typedef int tilek_index;
#else
typedef long long tilek_index;
#endif
static inline __device__ long long tilek_minimum(long long a, long long b) { return a < b ? a : b; }

#ifndef TILEK_WITHOUT_jacobi_nest1
#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_jacobi_nest1
#define TILEK_ARGUMENTS_jacobi_nest1
#endif
#define JACOBI_NEST1_TILES TILEK_ARGUMENTS_jacobi_nest1
#else
#define JACOBI_NEST1_TILES , \
    const long long A_length1, const long long B_length1, const long long i1_trip, const long long j1_trip, \
    const long long i1_count2, const long long j1_count2, const long long i1_stride0, \
    const long long i1_stride1, const long long j1_stride0, const long long j1_stride1, \
    const long long gang0_count_1, const long long gang1_count_1, const long long gang0_rounds_1, \
    const long long gang1_rounds_1, const long long tilek_index_bits
#endif

extern "C" __global__ void jacobi_nest1(float *__restrict__ A, float *__restrict__ B JACOBI_NEST1_TILES)
{
    const long long worker0 = (long long)threadIdx.x;
    const long long worker1 = (long long)threadIdx.y;
    /* The gangs of this group: more than one where the grid has fewer groups than there are gangs. */
    for (long long gang1 = (long long)blockIdx.y; gang1_rounds_1 == 1 || gang1 < gang1_count_1;
        gang1 += (long long)gridDim.y) {
        for (long long gang0 = (long long)blockIdx.x; gang0_rounds_1 == 1 || gang0 < gang0_count_1;
            gang0 += (long long)gridDim.x) {
            /* Where the distributed tiles of this instance begin, in iterations. */
            const long long i1_gang = gang0 * i1_stride0;
            const long long i1_worker = worker0 * i1_stride1;
            const long long j1_gang = gang1 * j1_stride0;
            const long long j1_worker = worker1 * j1_stride1;
            const int i1_end = 1 + tilek_minimum(i1_gang + i1_worker + i1_count2, i1_trip);
            for (int i = (tilek_index)(i1_gang + i1_worker) + 1; i < i1_end; ++i) {
                const int j1_end = 1 + tilek_minimum(j1_gang + j1_worker + j1_count2, j1_trip);
                for (int j = (tilek_index)(j1_gang + j1_worker) + 1; j < j1_end; ++j) {
                    B[(tilek_index)i * B_length1 + j] = A[(tilek_index)i * A_length1 + j - 1] * 0.5f;
                }
            }
            if (gang0_rounds_1 == 1) break;
        }
        if (gang1_rounds_1 == 1) break;
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
    const long long A_length1, const long long B_length1, const long long i3_trip, const long long j3_trip, \
    const long long i3_count2, const long long j3_count2, const long long i3_stride0, \
    const long long i3_stride1, const long long j3_stride0, const long long j3_stride1, \
    const long long gang0_count_2, const long long gang1_count_2, const long long gang0_rounds_2, \
    const long long gang1_rounds_2, const long long tilek_index_bits
#endif

/* One step of the host's loop over t: its gangs, tiles of iterations, run at once. */
extern "C" __global__ void jacobi_nest2(
    float *__restrict__ A, float *__restrict__ B, const int t JACOBI_NEST2_TILES)
{
    const long long worker0 = (long long)threadIdx.x;
    const long long worker1 = (long long)threadIdx.y;
    /* The gangs of this group: more than one where the grid has fewer groups than there are gangs. */
    for (long long gang1 = (long long)blockIdx.y; gang1_rounds_2 == 1 || gang1 < gang1_count_2;
        gang1 += (long long)gridDim.y) {
        for (long long gang0 = (long long)blockIdx.x; gang0_rounds_2 == 1 || gang0 < gang0_count_2;
            gang0 += (long long)gridDim.x) {
            /* Where the distributed tiles of this instance begin, in iterations. */
            const long long i3_gang = gang0 * i3_stride0;
            const long long i3_worker = worker0 * i3_stride1;
            const long long j3_gang = gang1 * j3_stride0;
            const long long j3_worker = worker1 * j3_stride1;
            const int i3_end = 1 + tilek_minimum(i3_gang + i3_worker + i3_count2, i3_trip);
            for (int i = (tilek_index)(i3_gang + i3_worker) + 1; i < i3_end; ++i) {
                const int j3_end = 1 + tilek_minimum(j3_gang + j3_worker + j3_count2, j3_trip);
                for (int j = (tilek_index)(j3_gang + j3_worker) + 1; j < j3_end; ++j) {
                    A[(tilek_index)i * A_length1 + j] = B[(tilek_index)i * B_length1 + j + 1] * 0.5f + t;
                }
            }
            if (gang0_rounds_2 == 1) break;
        }
        if (gang1_rounds_2 == 1) break;
    }
}
#endif
