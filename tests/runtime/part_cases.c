/* part_cases.c: what runs are made of: trips, tiles and reductions (Algorithm 1), and the threads that take their parts. */
#define _POSIX_C_SOURCE 200809L
#include "kernels.h"
#include "host/cores.h"
#include "launch/reduction.h"
#include "host/thread_pool.h"

#include <dirent.h>
#include <math.h>
#include <string.h>
#include <time.h>

/* ---- Algorithm 1 ------------------------------------------------------------------------------------------------- */

void trips(void)
{
    CHECK(tilek_trip(0, 10, 3, '<') == 4 && tilek_trip(0, 9, 3, 'l') == 4 && tilek_trip(10, 0, -3, '>') == 4 && tilek_trip(9, 0, -3, 'g') == 4);
    CHECK(tilek_trip(5, 5, 1, '<') == 0 && tilek_trip(5, 5, 1, 'l') == 1 && tilek_trip(5, 5, 7, '!') == 0 && tilek_trip(0, 10, 3, '!') == -1);
    CHECK(tilek_trip(0, 1, -1, '<') == -1 && tilek_trip(1, 0, -1, '<') == 0 && tilek_trip(0, 1, 0, '<') == -1);
    CHECK(tilek_trip(INT64_MIN, INT64_MAX, 1, '<') == -1 && tilek_trip(INT64_MIN, INT64_MAX, INT64_MAX, '<') == 3);
    CHECK(tilek_trip(INT64_MIN, INT64_MAX, 1, 'l') == -1 && tilek_trip(INT64_MIN, INT64_MAX, 3, 'l') == INT64_C(6148914691236517206));
    CHECK(tilek_trip(INT64_MAX, INT64_MIN, INT64_MIN, '>') == 2 && tilek_trip(INT64_MAX, INT64_MIN, INT64_MIN, 'g') == 2);
    CHECK(tilek_trip(INT64_MIN, 0, 1, '!') == -1 && tilek_trip(INT64_MIN, -1, 1, '!') == INT64_MAX && tilek_trip(0, INT64_MIN, INT64_MIN, '!') == 1);
    CHECK(tilek_trip(0, INT64_MAX, 1, '<') == INT64_MAX && tilek_trip(0, INT64_MAX, 1, 'l') == -1);
}

void tiles(void)
{
    const tilek_tile_kind kinds[] = {TILEK_TILE_STATIC, TILEK_TILE_DYNAMIC, TILEK_TILE_STATIC};
    const int64_t arguments[] = {2, 0, 4}, huge[] = {INT64_MAX, 0, 2};
    int64_t lengths[3], strides[3];
    tilek_tile found[3];
    int exact;
    CHECK(tilek_tiles(64, 3, kinds, arguments, found, &exact) == TILEK_OK && exact);
    CHECK(found[0].count == 2 && found[0].stride == 32 && found[1].count == 8 && found[1].stride == 4 && found[2].count == 4 && found[2].stride == 1);
    tilek_lengths(-2, 3, found, lengths, strides);
    CHECK(lengths[0] == -128 && strides[0] == -64 && lengths[2] == -8 && strides[2] == -2);
    CHECK(tilek_tiles(10, 3, kinds, arguments, found, &exact) == TILEK_OK && !exact && found[1].count == 2);
    CHECK(tilek_tiles(10, 3, kinds, huge, found, &exact) == TILEK_INVALID && tilek_tiles(-1, 3, kinds, arguments, found, &exact) == TILEK_INVALID);
    CHECK(tilek_tiles(3, 1, kinds, arguments, found, &exact) == TILEK_INVALID && tilek_tiles(2, 1, kinds, arguments, found, &exact) == TILEK_OK);
}

void reductions(void)
{
    const int32_t integers[] = {7, -3, INT32_MAX};
    const float reals[] = {1e8f, 1.0f, -1e8f, 1.0f, 1e8f, -1e8f, 5.0f};
    const uint8_t bits[] = {0x0f, 0xf0};
    int32_t integer = 1;
    float real = 0;
    uint8_t bit = 0xff;
    _Bool truth = 0;
    const _Bool truths[] = {0, 1};
    CHECK(tilek_combine(TILEK_ADD, TILEK_INT32, &integer, integers, 3) == TILEK_OK && integer == (int32_t)((uint32_t)INT32_MAX + 5u));
    CHECK(tilek_combine(TILEK_MINIMUM, TILEK_INT32, &integer, integers, 2) == TILEK_OK && tilek_combine(TILEK_MAXIMUM, TILEK_INT32, &integer, integers, 2) == TILEK_OK);
    CHECK(integer == 7);
    CHECK(tilek_combine(TILEK_ADD, TILEK_FLOAT, &real, reals, 3) == TILEK_OK && real == 0.0f); /* 1e8 + 1 is 1e8 */
    CHECK(tilek_combine(TILEK_ADD, TILEK_FLOAT, &real, reals, 4) == TILEK_OK && real == 0.0f); /* neighbours first: in index order it were 1 */
    CHECK(tilek_combine(TILEK_ADD, TILEK_FLOAT, &real, reals, 7) == TILEK_OK && real == 5.0f); /* what has no neighbour goes up: else 5 would be lost in 1e8 */
    CHECK(tilek_combine(TILEK_ADD, TILEK_FLOAT, &real, reals, 0) == TILEK_OK && real == 5.0f);
    CHECK(tilek_combine(TILEK_BIT_XOR, TILEK_UINT8, &bit, bits, 2) == TILEK_OK && bit == 0);
    CHECK(tilek_combine(TILEK_BIT_OR, TILEK_FLOAT, &real, reals, 3) == TILEK_INVALID);
    /* As fmax does: NaNs are passed over, also the one from before; where nothing else is, one is left. */
    const float numbers[] = {NAN, 2, -1}, none[] = {NAN, NAN};
    real = NAN;
    CHECK(tilek_combine(TILEK_MAXIMUM_NUMBER, TILEK_FLOAT, &real, none, 2) == TILEK_OK && isnan(real));
    CHECK(tilek_combine(TILEK_MAXIMUM_NUMBER, TILEK_FLOAT, &real, numbers, 3) == TILEK_OK && real == 2);
    CHECK(tilek_combine(TILEK_MINIMUM_NUMBER, TILEK_FLOAT, &real, numbers, 3) == TILEK_OK && real == -1);
    CHECK(tilek_combine(TILEK_MINIMUM_NUMBER, TILEK_INT32, &integer, integers, 2) == TILEK_INVALID);
    CHECK(tilek_combine(TILEK_LOGICAL_OR, TILEK_BOOL, &truth, truths, 2) == TILEK_OK && truth);
    CHECK(tilek_combine(TILEK_LOGICAL_AND, TILEK_BOOL, &truth, truths, 2) == TILEK_OK && !truth);
}

/* ---- Threads --------------------------------------------------------------------------------------------------------- */

static void count_part(void *context, int64_t part) { (void)__atomic_add_fetch(&((int *)context)[part], 1, __ATOMIC_RELAXED); }

static void nest_parts(void *context, int64_t part)
{
    (void)part;
    tilek_parallel(3, count_part, context);
}

void parallel(void)
{
    int counts[64];
    for (int parts = 0; parts < 64; ++parts) {
        memset(counts, 0, sizeof counts);
        tilek_parallel(parts, count_part, counts);
        for (int part = 0; part < 64; ++part) CHECK(counts[part] == (part < parts));
    }
    memset(counts, 0, sizeof counts);
    tilek_parallel(4, nest_parts, counts);
    CHECK(counts[0] == 4 && counts[1] == 4 && counts[2] == 4 && counts[3] == 0);
    tilek_threads_free();
    tilek_parallel(2, count_part, counts);
    CHECK(counts[0] == 5 && counts[1] == 5);
}

#ifdef __linux__
/* How often each thread of the process has gone to sleep, by its place in /proc; their number. */
static int count_sleeps(long sleeps[], int most)
{
    DIR *const folder = opendir("/proc/self/task");
    int count = 0;
    CHECK(folder != NULL);
    for (struct dirent *entry; count < most && (entry = readdir(folder)) != NULL;) {
        char path[300], line[200];
        FILE *file;
        if (entry->d_name[0] == '.') continue;
        (void)snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        file = fopen(path, "r");
        CHECK(file != NULL);
        while (fgets(line, sizeof line, file) != NULL)
            if (sscanf(line, "voluntary_ctxt_switches: %ld", &sleeps[count]) == 1) ++count;
        (void)fclose(file);
    }
    (void)closedir(folder);
    return count;
}

/* Threads that were made for a launch of more parts sleep through later ones of fewer. */
void spare_threads(void)
{
    enum { PARTS = 8, LAUNCHES = 20, MOST = 64 };
    long before[MOST], after[MOST];
    int counts[PARTS] = {0}, count, woken = 0;
    tilek_parallel(PARTS, count_part, counts);
    (void)nanosleep(&(struct timespec){0, 50000000}, NULL);
    count = count_sleeps(before, MOST);
    for (int launch = 0; launch < LAUNCHES; ++launch) {
        tilek_parallel(2, count_part, counts);
        (void)nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    CHECK(count >= PARTS && count_sleeps(after, MOST) == count && counts[0] == LAUNCHES + 1 && counts[1] == LAUNCHES + 1);
    for (int thread = 0; thread < count; ++thread) woken += after[thread] - before[thread] >= LAUNCHES / 2;
    CHECK(woken <= 2 + (count - PARTS)); /* the caller, one worker, and what a sanitizer has */
}
#else
void spare_threads(void) {}
#endif

/* A thread leaves a core that another has, time and again: it is moved, not bound. Whoever has one core stays there. */
void cores(void)
{
    int here = tilek_current_core();
    for (int round = 0; round < 4; ++round) {
        int moved = here;
        for (int attempt = 0; attempt < 100 && moved == here; ++attempt) moved = tilek_move_to_free_core(&here, 1); /* the system moves it too */
        CHECK((moved != here) == (here >= 0 && tilek_core_count() > 1));
        here = moved;
    }
}
