/* data.c: the data directives. */
#define _POSIX_C_SOURCE 200809L
#include "async.h"
#include "environment.h"
#include "message.h"
#include "present.h"

#include <stdlib.h>
#include <string.h>

/* What is under way may use what the directive changes. */
static void settle_queues(void)
{
    if (tilek_has_queues()) tilek_wait(-1, NULL);
}

static void enter_item(const char *file, int line, const tilek_data_item *item)
{
    tilek_message why;
    /* Verification compares whole arrays, so that elements which no kernel writes must be the host's on both sides. */
    const int undefined = (item->motion == TILEK_COPYOUT || item->motion == TILEK_CREATE) && !tilek_get_settings()->verify;
    if (item->motion == TILEK_PRESENT && !tilek_present_has(item->shape, &item->array, &why)) {
        tilek_trouble(file, line, "%s", why.text);
        return;
    }
    if (tilek_present_enter(item->shape, &item->array, undefined, &why) != TILEK_OK && item->motion != TILEK_KEEP)
        tilek_trouble(file, line, "%s; it is not made present", why.text);
}

void tilek_data_enter(const char *file, int line, int item_count, const tilek_data_item items[])
{
    if (!tilek_start()) return;
    for (int index = 0; index < item_count; ++index) enter_item(file, line, &items[index]);
}

void tilek_data_exit(const char *file, int line, int item_count, const tilek_data_item items[])
{
    if (!tilek_start()) return;
    settle_queues();
    for (int index = item_count - 1; index >= 0; --index) {
        const tilek_data_item *item = &items[index];
        const int copies_out = item->motion == TILEK_COPY || item->motion == TILEK_COPYOUT || item->motion == TILEK_KEEP;
        tilek_message why;
        if (tilek_present_exit(item->shape, &item->array, copies_out, &why) != TILEK_OK)
            tilek_fail(file, line, TILEK_EXIT_STRICT, "%s cannot be copied back: %s", item->shape->name, why.text);
    }
}

static void update_items(const char *file, int line, int item_count, const tilek_data_item items[], int queue)
{
    for (int index = 0; index < item_count; ++index) {
        tilek_message why;
        const tilek_status status = tilek_present_update(items[index].shape, &items[index].array, items[index].motion == TILEK_UPDATE_SELF, queue, &why);
        if (status == TILEK_INVALID) tilek_trouble(file, line, "%s; it is not updated", why.text);
        else if (status != TILEK_OK) tilek_fail(file, line, TILEK_EXIT_STRICT, "%s cannot be updated: %s", items[index].shape->name, why.text);
    }
}

typedef struct update_later { const char *file; int line, item_count; tilek_data_item items[]; } update_later;

static void run_later(void *argument, int device_queue)
{
    update_later *later = argument;
    update_items(later->file, later->line, later->item_count, later->items, device_queue);
    free(later);
}

void tilek_data_update(const char *file, int line, int item_count, const tilek_data_item items[], int64_t queue)
{
    update_later *later = NULL;
    if (!tilek_start()) return;
    if (queue != TILEK_QUEUE_SYNCHRONOUS) later = malloc(sizeof *later + (size_t)item_count * sizeof *items);
    if (later != NULL) {
        later->file = file;
        later->line = line;
        later->item_count = item_count;
        if (item_count > 0) memcpy(later->items, items, (size_t)item_count * sizeof *items);
        if (tilek_enqueue(queue, 0, NULL, run_later, later) == TILEK_OK) return;
        free(later);
    }
    settle_queues();
    update_items(file, line, item_count, items, 0);
}
