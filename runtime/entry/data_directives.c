/* data_directives.c: the data directives. */
#define _POSIX_C_SOURCE 200809L
#include "arrays/present_table.h"
#include "base/environment.h"
#include "base/message.h"
#include "base/trouble.h"
#include "dispatch/async_queues.h"
#include "entry/lifecycle.h"

#include <stdlib.h>
#include <string.h>

/* What is under way may use what the directive changes. */
static void settle_queues(void)
{
    if (tilek_has_queues()) tilek_queues_wait(-1, NULL);
}

static void enter_item(const char *file, int line, const tilek_data_item *item)
{
    tilek_message why;
    /* Verification compares whole arrays, so that elements which no kernel writes must be the
     * host's on both sides. */
    const int undefined = (item->motion == TILEK_COPYOUT || item->motion == TILEK_CREATE) &&
                          !tilek_get_settings()->verify;
    if (item->motion == TILEK_PRESENT && !tilek_present_has(item->shape, &item->array, &why)) {
        tilek_trouble(file, line, "%s", why.text);
        return;
    }
    if (tilek_present_enter(item->shape, &item->array, undefined, &why) != TILEK_OK && item->motion != TILEK_KEEP)
        tilek_trouble(file, line, "%s; it is not made present", why.text);
}

typedef struct directive {
    const char *file;
    int line, item_count;
    const tilek_data_item *items;
    int64_t queue;
    unsigned types;
} directive;
typedef struct element { const char *file; int line; const void *start; size_t bytes; } element;

/* In a signal handler that has interrupted this thread inside of the runtime, the table cannot be
 * changed. */
static void refuse_within(const directive *given)
{
    if (given->item_count > 0 && !tilek_nothing_is_present())
        tilek_end_at_once(
            "a data directive in a signal handler inside of a launch or another directive cannot be carried out");
}

static int enter(void *context, tilek_admission admission)
{
    const directive *const given = context;
    if (admission == TILEK_WITHIN)
        tilek_warn_at_once(
            given->file, given->line,
            "a data directive in a signal handler inside of a launch or another directive makes nothing present");
    for (int index = 0; admission == TILEK_ADMITTED && index < given->item_count; ++index)
        enter_item(given->file, given->line, &given->items[index]);
    return 0;
}

void tilek_data_enter(const char *file, int line, int item_count, const tilek_data_item items[])
{
    directive given = {file, line, item_count, items, 0, 0};
    (void)tilek_enter(enter, &given);
}

static int leave(void *context, tilek_admission admission)
{
    const directive *const given = context;
    if (admission == TILEK_WITHIN) {
        refuse_within(given);
        return 0;
    }
    settle_queues();
    for (int index = given->item_count - 1; index >= 0; --index) {
        const tilek_data_item *item = &given->items[index];
        const int copies_out = item->motion == TILEK_COPY || item->motion == TILEK_COPYOUT ||
                               item->motion == TILEK_KEEP;
        tilek_message why;
        if (tilek_present_exit(item->shape, &item->array, copies_out, &why) != TILEK_OK)
            tilek_fail(given->file, given->line, TILEK_EXIT_STRICT, "%s cannot be copied back: %s", item->shape->name,
                       why.text);
    }
    return 0;
}

void tilek_data_exit(const char *file, int line, int item_count, const tilek_data_item items[])
{
    directive given = {file, line, item_count, items, 0, 0};
    (void)tilek_enter(leave, &given);
}

/* `is_late`: what the host has the newest values of has left the table. */
static void update_items(const char *file, int line, int item_count, const tilek_data_item items[], int queue,
                         int is_late)
{
    for (int index = 0; index < item_count; ++index) {
        tilek_message why;
        const tilek_status status = tilek_present_update(items[index].shape, &items[index].array,
                                                         items[index].motion == TILEK_UPDATE_SELF, queue, &why);
        if (status == TILEK_INVALID && !is_late) tilek_trouble(file, line, "%s; it is not updated", why.text);
        if (status != TILEK_INVALID && status != TILEK_OK)
            tilek_fail(file, line, TILEK_EXIT_STRICT, "%s cannot be updated: %s", items[index].shape->name, why.text);
    }
}

typedef struct async_update { const char *file; int line, item_count; tilek_data_item items[]; } async_update;

static void run_later(void *argument, int device_queue)
{
    async_update *later = argument;
    update_items(later->file, later->line, later->item_count, later->items, device_queue, 0);
    free(later);
}

static int update(void *context, tilek_admission admission)
{
    const directive *const given = context;
    async_update *later = NULL;
    if (admission == TILEK_WITHIN) {
        refuse_within(given);
        return 0;
    }
    if (given->queue != TILEK_QUEUE_SYNCHRONOUS && admission == TILEK_ADMITTED)
        later = malloc(sizeof *later + (size_t)given->item_count * sizeof *given->items);
    if (later != NULL) {
        later->file = given->file;
        later->line = given->line;
        later->item_count = given->item_count;
        if (given->item_count > 0) memcpy(later->items, given->items, (size_t)given->item_count * sizeof *given->items);
        if (tilek_enqueue(given->queue, 0, NULL, run_later, later) == TILEK_OK) return 0;
        free(later);
    }
    settle_queues();
    update_items(given->file, given->line, given->item_count, given->items, 0, admission == TILEK_LATE);
    return 0;
}

void tilek_data_update(const char *file, int line, int item_count, const tilek_data_item items[], int64_t queue)
{
    directive given = {file, line, item_count, items, queue, 0};
    (void)tilek_enter(update, &given);
}

/* Whether values can be fetched now. Where they must be fetched in a signal handler inside of the
 * runtime, the program ends. */
static int can_fetch(tilek_admission admission)
{
    if (admission != TILEK_WITHIN) {
        settle_queues();
        return 1;
    }
    if (!tilek_nothing_is_present())
        tilek_end_at_once(
            "a kernel in a signal handler inside of a launch or a data directive cannot read what is present");
    return 0;
}

static int bring_home(void *context, tilek_admission admission)
{
    const directive *const given = context;
    tilek_message why;
    if (!can_fetch(admission)) return 0;
    if (tilek_present_home(given->types, &why) != TILEK_OK)
        tilek_fail(given->file, given->line, TILEK_EXIT_STRICT, "%s", why.text);
    return 0;
}

void tilek_data_home(const char *file, int line, unsigned types)
{
    directive given = {file, line, 0, NULL, 0, types};
    if (!tilek_nothing_is_present() || tilek_has_queues()) (void)tilek_enter(bring_home, &given);
}

static int bring_element_home(void *context, tilek_admission admission)
{
    const element *const given = context;
    tilek_message why;
    if (!can_fetch(admission)) return 0;
    if (tilek_present_element_home(given->start, given->bytes, &why) != TILEK_OK)
        tilek_fail(given->file, given->line, TILEK_EXIT_STRICT, "%s", why.text);
    return 0;
}

void tilek_element_home(const char *file, int line, const void *start, size_t bytes)
{
    element given = {file, line, start, bytes};
    if (!tilek_nothing_is_present() || tilek_has_queues()) (void)tilek_enter(bring_element_home, &given);
}
