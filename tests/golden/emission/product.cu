/* product: example.c:4. Built by tilepragma; constants may be given as -DNAME=value with -DTILEK_SPECIALIZED. */

/* The most bytes of shared memory that a gang may take; array tiles that need more are not staged. */
#ifndef TILEK_LOCAL_BYTES
#define TILEK_LOCAL_BYTES 32768
#endif
/* The type of indices of arrays. */
#if defined(TILEK_SPECIALIZED) && tilek_index_bits == 32
typedef int tilek_index;
#else
typedef long long tilek_index;
#endif
static inline __device__ long long tilek_minimum(long long a, long long b) { return a < b ? a : b; }
static inline __device__ long long tilek_maximum(long long a, long long b) { return a > b ? a : b; }
/* (worker + distance) / length, such that a constant distance of whole lengths becomes a constant offset of an address. */
static inline __device__ int tilek_quotient(unsigned worker, unsigned distance, unsigned length)
{
    return distance % length == 0 ? worker / length + distance / length : (worker + distance) / length;
}
static inline __device__ int tilek_remainder(unsigned worker, unsigned distance, unsigned length)
{
    return distance % length == 0 ? worker % length : (worker + distance) % length;
}
/* Reads `count` neighbours of shared memory together, which begin at a multiple of their number. */
static inline __device__ void tilek_read_float(float *to, const float *from, int count)
{
    if (count == 4) {
        const float4 value = *(const float4 *)from;
        to[0] = value.x, to[1] = value.y, to[2] = value.z, to[3] = value.w;
    } else if (count == 2) {
        const float2 value = *(const float2 *)from;
        to[0] = value.x, to[1] = value.y;
    } else {
        to[0] = *from;
    }
}

/* Whether copies into shared memory go on while the workers compute. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && !defined(TILEK_NO_ASYNC)
#define TILEK_ASYNC 1
static inline __device__ void tilek_wait_for_copies(void) { asm volatile("cp.async.wait_all;" ::: "memory"); }
static inline __device__ void tilek_copy_4(void *to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
        :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)) : "memory");
}
#define TILEK_COPY_4(to, from) tilek_copy_4(&(to), &(from))
static inline __device__ void tilek_copy_16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
        :: "r"((unsigned int)__cvta_generic_to_shared(to)), "l"(__cvta_generic_to_global(from)) : "memory");
}
#define TILEK_COPY_16(to, from) tilek_copy_16(&(to), &(from))
#else
#define TILEK_ASYNC 0
static inline __device__ void tilek_wait_for_copies(void) {}
#define TILEK_COPY_4(to, from) ((to) = (from))
#define TILEK_COPY_16(to, from) ((to) = (from))
#endif

#define PRODUCT_STAGED_WORDS ((16 * (PRODUCT_I_POINTS * worker1_count + 4) * 4 + 15) / 16 * 2 + (16 * (PRODUCT_J_POINTS * worker0_count) * 4 + 15) / 16 * 2)
#define PRODUCT_STAGED (PRODUCT_STAGED_WORDS * 8 <= TILEK_LOCAL_BYTES && i_points == PRODUCT_I_POINTS && j_points == PRODUCT_J_POINTS)
/* Whether there is room for the next tile beside this one. */
#define PRODUCT_TWICE (PRODUCT_STAGED_WORDS * 16 <= TILEK_LOCAL_BYTES)
/* How many points of a worker are neighbours. */
#define PRODUCT_I_GROUP (PRODUCT_I_POINTS % 4 == 0 ? 4 : PRODUCT_I_POINTS % 2 == 0 ? 2 : 1)
#define PRODUCT_J_GROUP (PRODUCT_J_POINTS % 4 == 0 ? 4 : PRODUCT_J_POINTS % 2 == 0 ? 2 : 1)
#ifdef TILEK_SPECIALIZED
#ifndef TILEK_ARGUMENTS_product
#define TILEK_ARGUMENTS_product
#endif
#define PRODUCT_TILES TILEK_ARGUMENTS_product
#define PRODUCT_I_POINTS i_points
#define PRODUCT_J_POINTS j_points
#define PRODUCT_POOL_WORDS (PRODUCT_TWICE ? 2 * PRODUCT_STAGED_WORDS : PRODUCT_STAGED ? PRODUCT_STAGED_WORDS : 1)
#define PRODUCT_A_SLOTS (((PRODUCT_I_POINTS * worker1_count) * 16 + 4 * worker0_count * worker1_count - 1) / (4 * worker0_count * worker1_count) * 4)
#define PRODUCT_B_SLOTS ((16 * (PRODUCT_J_POINTS * worker0_count) + 4 * worker0_count * worker1_count - 1) / (4 * worker0_count * worker1_count) * 4)
#define PRODUCT_HELD (PRODUCT_TWICE && !TILEK_ASYNC && PRODUCT_A_SLOTS + PRODUCT_B_SLOTS <= 16)
#else
#define PRODUCT_TILES , \
    const long long A_length1, const long long B_length1, const long long C_length1, const long long i_trip, \
    const long long j_trip, const long long i_count0, const long long i_points, const long long i_count2, \
    const long long j_count0, const long long j_points, const long long j_count2, const long long i_stride0, \
    const long long i_stride1, const long long i_stride2, const long long j_stride0, \
    const long long j_stride1, const long long j_stride2, const long long gang0_count, \
    const long long gang1_count, const long long worker0_count, const long long worker1_count, \
    const long long gang0_rounds, const long long gang1_rounds, const long long tilek_index_bits, \
    const long long p_value
#define PRODUCT_I_POINTS 8
#define PRODUCT_J_POINTS 4
#define PRODUCT_POOL_WORDS (TILEK_LOCAL_BYTES / 8)
#define PRODUCT_A_SLOTS 1
#define PRODUCT_B_SLOTS 1
#define PRODUCT_HELD 0
#endif

extern "C" __global__ void product(
    const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C PRODUCT_TILES)
{
    const int p = p_value;
    const long long worker0 = (long long)threadIdx.x;
    const long long worker1 = (long long)threadIdx.y;
    __shared__ long long pool[PRODUCT_POOL_WORDS] __attribute__((aligned(16)));
    if (PRODUCT_STAGED) {
        const int A_size0 = PRODUCT_I_POINTS * worker1_count;
        const int A_size1 = 16;
        const int A_pitch = PRODUCT_I_POINTS * worker1_count + 4;
        const int B_size0 = 16;
        const int B_size1 = PRODUCT_J_POINTS * worker0_count;
        const int worker = worker1 * worker0_count + worker0;
        const int workers = worker0_count * worker1_count;
        const int A_lanes = workers % A_size1 == 0 ? A_size1 : workers % 32 == 0 ? 32 : workers;
        const int A_vectors = tilek_maximum(1, A_size1 / 4);
        const int B_lanes = workers % B_size1 == 0 ? B_size1 : workers % 32 == 0 ? 32 : workers;
        const int B_vectors = tilek_maximum(1, B_size1 / 4);
        /* The gangs of this group: more than one where the grid has fewer groups than there are gangs. */
        for (long long gang1 = (long long)blockIdx.y; gang1 < gang1_count; gang1 += (long long)gridDim.y) {
            for (long long gang0 = (long long)blockIdx.x; gang0 < gang0_count;
                gang0 += (long long)gridDim.x) {
                /* Where the distributed tiles of this instance begin, in iterations. */
                const long long i_gang = gang1 * i_stride1;
                const int i_worker = worker1 * PRODUCT_I_GROUP;
                const long long j_gang = gang0 * j_stride1;
                const int j_worker = worker0 * PRODUCT_J_GROUP;
                /* Whether all tiles of a loop are full: constants in specialised programs. */
                const int i_full = PRODUCT_I_POINTS * worker1_count + (i_count0 - 1) * i_stride0
                    + (gang1_count - 1) * i_stride1 <= i_trip;
                const int j_full = PRODUCT_J_POINTS * worker0_count + (j_count0 - 1) * j_stride0
                    + (gang0_count - 1) * j_stride1 <= j_trip;
                for (long long i_round = 0; i_round < i_count0 * i_stride0; i_round += i_stride0) {
                    for (long long j_round = 0; j_round < j_count0 * j_stride0; j_round += j_stride0) {
                        const long long i_first = i_round + i_gang;
                        const long long i_last = (i_full ? i_first + PRODUCT_I_POINTS * worker1_count
                            : tilek_minimum(i_first + PRODUCT_I_POINTS * worker1_count, i_trip)) - 1;
                        const long long j_first = j_round + j_gang;
                        const long long j_last = (j_full ? j_first + PRODUCT_J_POINTS * worker0_count
                            : tilek_minimum(j_first + PRODUCT_J_POINTS * worker0_count, j_trip)) - 1;
                        const int full = i_last - i_first == PRODUCT_I_POINTS * worker1_count - 1
                            && j_last - j_first == PRODUCT_J_POINTS * worker0_count - 1;
                        float total[PRODUCT_I_POINTS][PRODUCT_J_POINTS];
                        if (full) {
#pragma unroll
                            for (int i_step = 0; i_step < PRODUCT_I_POINTS; ++i_step) {
#pragma unroll
                                for (int j_step = 0; j_step < PRODUCT_J_POINTS; ++j_step) {
                                    const int i_place = i_worker
                                        + i_step / PRODUCT_I_GROUP * PRODUCT_I_GROUP * worker1_count
                                        + i_step % PRODUCT_I_GROUP;
                                    const int j_place = j_worker
                                        + j_step / PRODUCT_J_GROUP * PRODUCT_J_GROUP * worker0_count
                                        + j_step % PRODUCT_J_GROUP;
                                    const int i = i_first + i_place;
                                    const int j = j_first + j_place;
                                    total[i_step][j_step] = C[(tilek_index)i * C_length1 + j];
                                }
                            }
                        } else {
#pragma unroll
                            for (int i_step = 0; i_step < PRODUCT_I_POINTS; ++i_step) {
#pragma unroll
                                for (int j_step = 0; j_step < PRODUCT_J_POINTS; ++j_step) {
                                    const int i_place = i_worker
                                        + i_step / PRODUCT_I_GROUP * PRODUCT_I_GROUP * worker1_count
                                        + i_step % PRODUCT_I_GROUP;
                                    const int j_place = j_worker
                                        + j_step / PRODUCT_J_GROUP * PRODUCT_J_GROUP * worker0_count
                                        + j_step % PRODUCT_J_GROUP;
                                    if (i_first + i_place <= i_last && j_first + j_place <= j_last) {
                                        const int i = i_first + i_place;
                                        const int j = j_first + j_place;
                                        total[i_step][j_step] = C[(tilek_index)i * C_length1 + j];
                                    }
                                }
                            }
                        }
                        /* The next tile is copied while this one is computed,
                            where there is room for both. */
                        int present = 0;
                        const int some = i_first <= i_last && j_first <= j_last;
                        const int k_full = (long long)p % 16 == 0;
                        for (tilek_index k_tile = 0ll - (PRODUCT_TWICE ? 16ll : 0); k_tile < (long long)p;
                            k_tile += 16ll) {
                            const tilek_index k_tile_copied = k_tile + (PRODUCT_TWICE ? 16ll : 0);
                            const int k_copied_first = k_tile_copied;
                            const int k_copied_last = k_full ? k_copied_first + 15
                                : tilek_minimum(k_tile_copied + 16ll, (long long)p) - 1;
                            float *const A_staged = (float *)(pool + present);
                            float *const B_staged = (float *)(pool + present
                                + (16 * (PRODUCT_I_POINTS * worker1_count + 4) * 4 + 15) / 16 * 2);
                            const int other = PRODUCT_TWICE ? PRODUCT_STAGED_WORDS - present : present;
                            float *const A_next = (float *)(pool + other);
                            float *const B_next = (float *)(pool + other
                                + (16 * (PRODUCT_I_POINTS * worker1_count + 4) * 4 + 15) / 16 * 2);
                            float A_held[PRODUCT_HELD ? PRODUCT_A_SLOTS : 1];
                            float B_held[PRODUCT_HELD ? PRODUCT_B_SLOTS : 1];
                            const tilek_index A_staged0 = i_first;
                            const tilek_index A_staged1 = k_copied_first;
                            const int A_span0 = i_last - i_first + 1;
                            const int A_span1 = k_copied_last - k_copied_first + 1;
                            const int A_whole = A_size1 % 4 == 0 && A_length1 % 4 == 0 && A_staged1 % 4 == 0
                                && (size_t)A % 16 == 0 && (A_span1 % 4 == 0 || A_span1 == A_size1);
                            const tilek_index B_staged0 = k_copied_first;
                            const tilek_index B_staged1 = j_first;
                            const int B_span0 = k_copied_last - k_copied_first + 1;
                            const int B_span1 = j_last - j_first + 1;
                            const int B_whole = B_size1 % 4 == 0 && B_length1 % 4 == 0 && B_staged1 % 4 == 0
                                && (size_t)B % 16 == 0 && (B_span1 % 4 == 0 || B_span1 == B_size1);
                            if (k_tile_copied < (long long)p && some) {
                                const float *const A_first =
                                    &A[(tilek_index)(A_staged0 + 0) * A_length1 + A_staged1 + 0];
                                if (PRODUCT_HELD) {
                                    if (A_whole) {
#pragma unroll
                                        for (int slot = 0; slot < PRODUCT_A_SLOTS; slot += 4) {
                                            const int distance = slot / 4 * workers;
                                            const int index0 = tilek_quotient(worker, distance, A_vectors);
                                            const int index1 = tilek_remainder(worker, distance, A_vectors)
                                                * 4;
                                            if ((PRODUCT_A_SLOTS * workers == A_size0 * A_size1
                                                && A_span0 == A_size0 && A_span1 == A_size1)
                                                || (index0 < A_span0 && index1 < A_span1)) {
                                                const float4 value = *(const float4 *)&A_first[index0
                                                    * A_length1 + index1];
                                                A_held[slot] = value.x;
                                                A_held[slot + 1] = value.y;
                                                A_held[slot + 2] = value.z;
                                                A_held[slot + 3] = value.w;
                                            }
                                        }
                                    } else {
#pragma unroll
                                        for (int slot = 0; slot < PRODUCT_A_SLOTS; ++slot) {
                                            const int distance = slot * workers;
                                            const int index0 = tilek_quotient(worker, distance, A_size1);
                                            const int index1 = tilek_remainder(worker, distance, A_size1);
                                            if ((PRODUCT_A_SLOTS * workers == A_size0 * A_size1
                                                && A_span0 == A_size0 && A_span1 == A_size1)
                                                || (index0 < A_span0 && index1 < A_span1)) A_held[slot] =
                                                A_first[index0 * A_length1 + index1];
                                        }
                                    }
                                } else {
#pragma unroll 4
                                    for (int turn = 0; turn < (A_size0 + (workers / A_lanes) - 1)
                                        / (workers / A_lanes); ++turn) {
                                        const int index0 = (unsigned)worker / A_lanes
                                            + turn * (workers / A_lanes);
                                        if (index0 < A_span0) {
                                            for (int index1 = (unsigned)worker % A_lanes; index1 < A_span1;
                                                index1 += A_lanes) {
                                                TILEK_COPY_4(A_next[index1 * A_pitch + index0],
                                                    A[(tilek_index)(A_staged0 + index0) * A_length1
                                                    + A_staged1 + index1]);
                                                if (A_lanes == A_size1) break;
                                            }
                                        }
                                    }
                                }
                                const float *const B_first =
                                    &B[(tilek_index)(B_staged0 + 0) * B_length1 + B_staged1 + 0];
                                if (PRODUCT_HELD) {
                                    if (B_whole) {
#pragma unroll
                                        for (int slot = 0; slot < PRODUCT_B_SLOTS; slot += 4) {
                                            const int distance = slot / 4 * workers;
                                            const int index0 = tilek_quotient(worker, distance, B_vectors);
                                            const int index1 = tilek_remainder(worker, distance, B_vectors)
                                                * 4;
                                            if ((PRODUCT_B_SLOTS * workers == B_size0 * B_size1
                                                && B_span0 == B_size0 && B_span1 == B_size1)
                                                || (index0 < B_span0 && index1 < B_span1)) {
                                                const float4 value = *(const float4 *)&B_first[index0
                                                    * B_length1 + index1];
                                                B_held[slot] = value.x;
                                                B_held[slot + 1] = value.y;
                                                B_held[slot + 2] = value.z;
                                                B_held[slot + 3] = value.w;
                                            }
                                        }
                                    } else {
#pragma unroll
                                        for (int slot = 0; slot < PRODUCT_B_SLOTS; ++slot) {
                                            const int distance = slot * workers;
                                            const int index0 = tilek_quotient(worker, distance, B_size1);
                                            const int index1 = tilek_remainder(worker, distance, B_size1);
                                            if ((PRODUCT_B_SLOTS * workers == B_size0 * B_size1
                                                && B_span0 == B_size0 && B_span1 == B_size1)
                                                || (index0 < B_span0 && index1 < B_span1)) B_held[slot] =
                                                B_first[index0 * B_length1 + index1];
                                        }
                                    }
                                } else {
                                    /* A full tile as vectors of 16 bytes,
                                        where it begins with one in memory. */
                                    if (B_span0 == B_size0 && B_span1 == B_size1 && B_size1 % 4 == 0
                                        && workers % B_vectors == 0 && B_size0 * B_vectors % workers == 0
                                        && B_length1 % 4 == 0 && B_staged1 % 4 == 0 && (size_t)B % 16 == 0) {
#pragma unroll
                                        for (int turn = 0; turn < B_size0 * B_vectors / workers; ++turn) {
                                            const int index0 = (unsigned)worker / B_vectors
                                                + turn * (workers / B_vectors);
                                            const int index1 = (unsigned)worker % B_vectors * 4;
                                            TILEK_COPY_16(*(float4 *)&B_next[index0 * B_size1 + index1],
                                                *(const float4 *)&B[(tilek_index)(B_staged0 + index0)
                                                * B_length1 + B_staged1 + index1]);
                                        }
                                    } else {
#pragma unroll 4
                                        for (int turn = 0; turn < (B_size0 + (workers / B_lanes) - 1)
                                            / (workers / B_lanes); ++turn) {
                                            const int index0 = (unsigned)worker / B_lanes
                                                + turn * (workers / B_lanes);
                                            if (index0 < B_span0) {
                                                for (int index1 = (unsigned)worker % B_lanes;
                                                    index1 < B_span1; index1 += B_lanes) {
                                                    TILEK_COPY_4(B_next[index0 * B_size1 + index1],
                                                        B[(tilek_index)(B_staged0 + index0) * B_length1
                                                        + B_staged1 + index1]);
                                                    if (B_lanes == B_size1) break;
                                                }
                                            }
                                        }
                                    }
                                }
                            }
                            if (!PRODUCT_TWICE) {
                                tilek_wait_for_copies();
                                __syncthreads();
                            }
                            const int k_first = k_tile;
                            const int k_last = k_full ? k_first + 15
                                : tilek_minimum(k_tile + 16ll, (long long)p) - 1;
                            if (k_tile >= 0ll) {
                                if (k_last - k_first == 15) {
                                    /* An iteration reads what the next one needs before it computes. */
                                    float A_points_ahead[PRODUCT_I_POINTS];
                                    float B_points_ahead[PRODUCT_J_POINTS];
#pragma unroll
                                    for (int i_step = 0; i_step < PRODUCT_I_POINTS;
                                        i_step += PRODUCT_I_GROUP) {
                                        const int i_place = i_worker + i_step * worker1_count;
                                        tilek_read_float(&A_points_ahead[i_step], &A_staged[i_place],
                                            PRODUCT_I_GROUP);
                                    }
#pragma unroll
                                    for (int j_step = 0; j_step < PRODUCT_J_POINTS;
                                        j_step += PRODUCT_J_GROUP) {
                                        const int j_place = j_worker + j_step * worker0_count;
                                        tilek_read_float(&B_points_ahead[j_step], &B_staged[j_place],
                                            PRODUCT_J_GROUP);
                                    }
#pragma unroll
                                    for (int k = k_first; k - k_first < 16; ++k) {
                                        float A_points[PRODUCT_I_POINTS];
#pragma unroll
                                        for (int i_step = 0; i_step < PRODUCT_I_POINTS; ++i_step) {
                                            A_points[i_step] = A_points_ahead[i_step];
                                        }
                                        float B_points[PRODUCT_J_POINTS];
#pragma unroll
                                        for (int j_step = 0; j_step < PRODUCT_J_POINTS; ++j_step) {
                                            B_points[j_step] = B_points_ahead[j_step];
                                        }
                                        if (k - k_first < 15) {
#pragma unroll
                                            for (int i_step = 0; i_step < PRODUCT_I_POINTS;
                                                i_step += PRODUCT_I_GROUP) {
                                                const int i_place = i_worker + i_step * worker1_count;
                                                tilek_read_float(&A_points_ahead[i_step],
                                                    &A_staged[(k + 1 - k_first) * A_pitch + i_place],
                                                    PRODUCT_I_GROUP);
                                            }
#pragma unroll
                                            for (int j_step = 0; j_step < PRODUCT_J_POINTS;
                                                j_step += PRODUCT_J_GROUP) {
                                                const int j_place = j_worker + j_step * worker0_count;
                                                tilek_read_float(&B_points_ahead[j_step],
                                                    &B_staged[(k + 1 - k_first) * B_size1 + j_place],
                                                    PRODUCT_J_GROUP);
                                            }
                                        }
#pragma unroll
                                        for (int i_step = 0; i_step < PRODUCT_I_POINTS; ++i_step) {
#pragma unroll
                                            for (int j_step = 0; j_step < PRODUCT_J_POINTS; ++j_step) {
                                                total[i_step][j_step] += A_points[i_step] * B_points[j_step];
                                            }
                                        }
                                    }
                                } else {
#pragma unroll 1
                                    for (int k = k_first; k <= k_last; ++k) {
                                        float A_points[PRODUCT_I_POINTS];
#pragma unroll
                                        for (int i_step = 0; i_step < PRODUCT_I_POINTS;
                                            i_step += PRODUCT_I_GROUP) {
                                            const int i_place = i_worker + i_step * worker1_count;
                                            tilek_read_float(&A_points[i_step],
                                                &A_staged[(k - k_first) * A_pitch + i_place],
                                                PRODUCT_I_GROUP);
                                        }
                                        float B_points[PRODUCT_J_POINTS];
#pragma unroll
                                        for (int j_step = 0; j_step < PRODUCT_J_POINTS;
                                            j_step += PRODUCT_J_GROUP) {
                                            const int j_place = j_worker + j_step * worker0_count;
                                            tilek_read_float(&B_points[j_step],
                                                &B_staged[(k - k_first) * B_size1 + j_place],
                                                PRODUCT_J_GROUP);
                                        }
#pragma unroll
                                        for (int i_step = 0; i_step < PRODUCT_I_POINTS; ++i_step) {
#pragma unroll
                                            for (int j_step = 0; j_step < PRODUCT_J_POINTS; ++j_step) {
                                                total[i_step][j_step] += A_points[i_step] * B_points[j_step];
                                            }
                                        }
                                    }
                                }
                            }
                            if (PRODUCT_HELD && k_tile_copied < (long long)p && some) {
                                if (A_whole) {
#pragma unroll
                                    for (int slot = 0; slot < PRODUCT_A_SLOTS; slot += 4) {
                                        const int distance = slot / 4 * workers;
                                        const int index0 = tilek_quotient(worker, distance, A_vectors);
                                        const int index1 = tilek_remainder(worker, distance, A_vectors) * 4;
                                        if (PRODUCT_A_SLOTS * workers == A_size0 * A_size1
                                            || index0 < A_size0) {
                                            float *const first_element = &A_next[index1 * A_pitch + index0];
                                            first_element[0] = A_held[slot];
                                            first_element[A_pitch] = A_held[slot + 1];
                                            first_element[2 * A_pitch] = A_held[slot + 2];
                                            first_element[3 * A_pitch] = A_held[slot + 3];
                                        }
                                    }
                                } else {
#pragma unroll
                                    for (int slot = 0; slot < PRODUCT_A_SLOTS; ++slot) {
                                        const int distance = slot * workers;
                                        const int index0 = tilek_quotient(worker, distance, A_size1);
                                        const int index1 = tilek_remainder(worker, distance, A_size1);
                                        if (PRODUCT_A_SLOTS * workers == A_size0 * A_size1
                                            || index0 < A_size0) A_next[index1 * A_pitch + index0] =
                                            A_held[slot];
                                    }
                                }
                                if (B_whole) {
#pragma unroll
                                    for (int slot = 0; slot < PRODUCT_B_SLOTS; slot += 4) {
                                        const int distance = slot / 4 * workers;
                                        const int index0 = tilek_quotient(worker, distance, B_vectors);
                                        const int index1 = tilek_remainder(worker, distance, B_vectors) * 4;
                                        if ((PRODUCT_B_SLOTS * workers == B_size0 * B_size1
                                            && B_span0 == B_size0 && B_span1 == B_size1)
                                            || (index0 < B_span0 && index1 < B_span1)) {
                                            const float4 value = {B_held[slot], B_held[slot + 1],
                                                B_held[slot + 2], B_held[slot + 3]};
                                            *(float4 *)&B_next[index0 * B_size1 + index1] = value;
                                        }
                                    }
                                } else {
#pragma unroll
                                    for (int slot = 0; slot < PRODUCT_B_SLOTS; ++slot) {
                                        const int distance = slot * workers;
                                        const int index0 = tilek_quotient(worker, distance, B_size1);
                                        const int index1 = tilek_remainder(worker, distance, B_size1);
                                        if (PRODUCT_B_SLOTS * workers == B_size0 * B_size1
                                            || index0 < B_size0) B_next[index0 * B_size1 + index1] =
                                            B_held[slot];
                                    }
                                }
                            }
                            tilek_wait_for_copies();
                            __syncthreads();
                            present = PRODUCT_TWICE ? PRODUCT_STAGED_WORDS - present : present;
                        }
                        if (full) {
#pragma unroll
                            for (int i_step = 0; i_step < PRODUCT_I_POINTS; ++i_step) {
#pragma unroll
                                for (int j_step = 0; j_step < PRODUCT_J_POINTS; ++j_step) {
                                    const int i_place = i_worker
                                        + i_step / PRODUCT_I_GROUP * PRODUCT_I_GROUP * worker1_count
                                        + i_step % PRODUCT_I_GROUP;
                                    const int j_place = j_worker
                                        + j_step / PRODUCT_J_GROUP * PRODUCT_J_GROUP * worker0_count
                                        + j_step % PRODUCT_J_GROUP;
                                    const int i = i_first + i_place;
                                    const int j = j_first + j_place;
                                    C[(tilek_index)i * C_length1 + j] = total[i_step][j_step];
                                }
                            }
                        } else {
#pragma unroll
                            for (int i_step = 0; i_step < PRODUCT_I_POINTS; ++i_step) {
#pragma unroll
                                for (int j_step = 0; j_step < PRODUCT_J_POINTS; ++j_step) {
                                    const int i_place = i_worker
                                        + i_step / PRODUCT_I_GROUP * PRODUCT_I_GROUP * worker1_count
                                        + i_step % PRODUCT_I_GROUP;
                                    const int j_place = j_worker
                                        + j_step / PRODUCT_J_GROUP * PRODUCT_J_GROUP * worker0_count
                                        + j_step % PRODUCT_J_GROUP;
                                    if (i_first + i_place <= i_last && j_first + j_place <= j_last) {
                                        const int i = i_first + i_place;
                                        const int j = j_first + j_place;
                                        C[(tilek_index)i * C_length1 + j] = total[i_step][j_step];
                                    }
                                }
                            }
                        }
                    }
                }
#ifdef TILEK_SPECIALIZED
                if (gang0_rounds == 1) break;
#endif
            }
#ifdef TILEK_SPECIALIZED
            if (gang1_rounds == 1) break;
#endif
        }
    } else {
        /* The gangs of this group: more than one where the grid has fewer groups than there are gangs. */
        for (long long gang1 = (long long)blockIdx.y; gang1_rounds == 1 || gang1 < gang1_count;
            gang1 += (long long)gridDim.y) {
            for (long long gang0 = (long long)blockIdx.x; gang0_rounds == 1 || gang0 < gang0_count;
                gang0 += (long long)gridDim.x) {
                /* Where the distributed tiles of this instance begin, in iterations. */
                const long long i_gang = gang1 * i_stride1;
                const long long i_worker = worker1;
                const long long j_gang = gang0 * j_stride1;
                const long long j_worker = worker0;
                for (long long i_tile0 = 0; i_tile0 < i_count0 * i_stride0; i_tile0 += i_stride0) {
                    const int i_end = tilek_minimum(i_gang + i_worker + i_tile0 + i_count2 * i_stride2,
                        i_trip);
                    for (int i = i_gang + i_worker + i_tile0; i < i_end; i += i_stride2) {
                        for (long long j_tile0 = 0; j_tile0 < j_count0 * j_stride0; j_tile0 += j_stride0) {
                            const int j_end = tilek_minimum(j_gang + j_worker + j_tile0
                                + j_count2 * j_stride2, j_trip);
                            for (int j = j_gang + j_worker + j_tile0; j < j_end; j += j_stride2) {
                                float total = C[(tilek_index)i * C_length1 + j];
                                for (int k = 0; k < p; ++k) {
                                    total += A[(tilek_index)i * A_length1 + k]
                                        * B[(tilek_index)k * B_length1 + j];
                                }
                                C[(tilek_index)i * C_length1 + j] = total;
                            }
                        }
                    }
                }
                if (gang0_rounds == 1) break;
            }
            if (gang1_rounds == 1) break;
        }
    }
}
