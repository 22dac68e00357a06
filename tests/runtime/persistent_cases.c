/* persistent_cases.c: the flags and boxes of launches of all wavefronts at once (persistent_launch.h), and how many columns these have. */
#define _POSIX_C_SOURCE 200809L
#include "kernels.h"
#include "launch/persistent_launch.h"
#include "entry/lifecycle.h"
#include "device/open_devices.h"

#include <pthread.h>
#include <string.h>

static const int64_t boxes[] = {0, 3, 1, 4}, others[] = {0, 3, 1, 5};
enum { NUMBERS = sizeof boxes / sizeof boxes[0] };

static tilek_place fake_place(void)
{
    tilek_place place = {NULL, NULL, TILEK_OPENCL, 0, NULL};
    tilek_message why;
    CHECK(tilek_start() && tilek_open_device(TILEK_OPENCL, -1, 0, &place.backend, &place.device, &why) == TILEK_OK);
    return place;
}

static tilek_flags *taken(const tilek_place *place, int64_t columns)
{
    tilek_flags *flags;
    tilek_message why;
    CHECK(tilek_take_flags(place, columns, NUMBERS, &flags, &why) == TILEK_OK);
    CHECK(flags->buffer.bytes >= (size_t)columns * sizeof(int64_t) && flags->boxes.bytes >= sizeof boxes);
    return flags;
}

/* What one launch has given back serves the next, and those that a larger one cannot use do not stay for ever. */
void flags_of_many_sizes(void)
{
    enum { LAUNCHES = 100 };
    const tilek_place place = fake_place();
    tilek_flags *const first = taken(&place, LAUNCHES), *second;
    int allocations;
    CHECK(((const int64_t *)first->buffer.object)[LAUNCHES - 1] == 0);
    first->base = 7;
    second = taken(&place, LAUNCHES);
    CHECK(second != first);
    tilek_give_flags(first);
    allocations = fake.allocations;
    CHECK(taken(&place, LAUNCHES / 2) == first && first->base == 7 && fake.allocations == allocations);
    tilek_give_flags(first);
    tilek_give_flags(second);
    for (int64_t more = 1; more <= LAUNCHES; ++more) tilek_give_flags(taken(&place, LAUNCHES + more));
    CHECK(fake.live_buffers < LAUNCHES);
}

/* Boxes that are there are not brought again, others are, and so are those that did not arrive. */
void flags_and_boxes(void)
{
    const tilek_place place = fake_place();
    tilek_flags *const flags = taken(&place, 5);
    const int64_t *const there = flags->boxes.object;
    tilek_message why;
    const int writes = fake.writes;
    CHECK(tilek_bring_boxes(flags, 0, boxes, NUMBERS, &why) == TILEK_OK && memcmp(there, boxes, sizeof boxes) == 0);
    CHECK(tilek_bring_boxes(flags, 0, boxes, NUMBERS, &why) == TILEK_OK && fake.writes == writes + 1);
    fake.fail_write = 1;
    CHECK(tilek_bring_boxes(flags, 0, others, NUMBERS, &why) != TILEK_OK);
    CHECK(tilek_bring_boxes(flags, 0, others, NUMBERS, &why) == TILEK_OK && memcmp(there, others, sizeof others) == 0);
    tilek_give_flags(flags);
}

/* Each of the buffers may be lacking; nothing of the others is left then, as the device says at the end. */
void flags_scarce(void)
{
    const tilek_place place = fake_place();
    for (int which = 1; which <= 3; ++which) {
        tilek_flags *flags = NULL;
        tilek_message why;
        if (which <= 2) fake.fail_allocate = which;
        else fake.fail_write = 1;
        CHECK(tilek_take_flags(&place, 10 * which, (size_t)(20 * which), &flags, &why) != TILEK_OK && flags == NULL);
    }
    tilek_give_flags(NULL);
}

static void *take_often(void *place)
{
    for (int64_t count = 0; count < 200; ++count) {
        tilek_flags *const flags = taken(place, 1 + count % 7);
        tilek_message why;
        ++flags->base;
        CHECK(tilek_bring_boxes(flags, 0, count % 2 == 0 ? boxes : others, NUMBERS, &why) == TILEK_OK);
        CHECK(memcmp(flags->boxes.object, count % 2 == 0 ? boxes : others, sizeof boxes) == 0);
        tilek_give_flags(flags);
    }
    return NULL;
}

/* No two launches have the same flags at a time. */
void flags_concurrent(void)
{
    tilek_place place = fake_place();
    pthread_t threads[4];
    for (int index = 0; index < 4; ++index) CHECK(pthread_create(&threads[index], NULL, take_often, &place) == 0);
    for (int index = 0; index < 4; ++index) CHECK(pthread_join(threads[index], NULL) == 0);
}

/* Columns of far wavefronts are more than can be counted, and not a few again. */
void columns_of_wavefronts(void)
{
    const tilek_launch_shape launch = {.axes = 3u << TILEK_AXIS_GANG, .loop_count = 2};
    const int64_t low[] = {-5, 0}, few[] = {4, 2}, many[] = {INT64_C(1) << 32, (INT64_C(1) << 32) - 1}, least[] = {INT64_MIN, 0};
    CHECK(tilek_columns(&launch, low, few) == 30);
    CHECK(tilek_columns(&launch, low, many) == INT64_MAX);
    CHECK(tilek_columns(&launch, least, few) == INT64_MAX);
    CHECK(tilek_columns(&launch, low, (const int64_t[]){INT64_MAX, 0}) == INT64_MAX);
}
