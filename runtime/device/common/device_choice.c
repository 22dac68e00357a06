/* device_choice.c: how both device back ends find their devices once and choose among them. */
#define _POSIX_C_SOURCE 200809L
#include "device/common/device_choice.h"

#include "base/message.h"
#include "base/rank.h"

#include <ctype.h>

int tilek_name_contains(const char *name, const char *part)
{
    for (; *name != '\0'; ++name) {
        size_t k = 0;
        while (part[k] != '\0' && tolower((unsigned char)name[k]) == tolower((unsigned char)part[k]))
            ++k;
        if (part[k] == '\0')
            return 1;
    }
    return *part == '\0';
}

int tilek_device_of_rank(int count, size_t stride, const tilek_limits *first, const char *name_part)
{
    int64_t like = 0, wanted = -1;
    int is_gpu = 0;
    for (int round = 0; round < 2; ++round) { /* counts the devices of that kind, then finds the one of this rank */
        for (int k = 0; k < count; ++k) {
            const tilek_limits *limits = (const tilek_limits *)(const void *)((const char *)first + (size_t)k * stride);
            if (name_part != NULL && !tilek_name_contains(limits->name, name_part))
                continue;
            if (round == 0 && like == 0)
                is_gpu = limits->is_gpu;
            if (limits->is_gpu != is_gpu)
                continue;
            if (round == 0)
                ++like;
            else if (wanted-- == 0)
                return k;
        }
        wanted = like > 0 ? tilek_local_rank() % like : -1;
    }
    return -1;
}

static int chosen_among(const tilek_device_list *list, int64_t number, const char *name_part, tilek_message *why)
{
    if (number >= list->count) {
        tilek_say(why, "there is no %s device %lld (devices are numbered from 0 to %d)", list->api, (long long)number,
                  list->count - 1);
        return -1;
    }
    if (number >= 0)
        return (int)number;
    const int chosen = tilek_device_of_rank(list->count, list->stride, list->first, name_part);
    if (chosen < 0)
        tilek_say(why, "no %s device has a name with '%s' in it (the first is '%s')", list->api, name_part,
                  list->first->name);
    return chosen;
}

tilek_status tilek_choose_device(tilek_device_list *list, void (*search)(void), int64_t number, const char *name_part,
                                 int *chosen, tilek_message *why)
{
    tilek_lock(list->lock);
    if (!list->searched) {
        list->searched = 1;
        search();
    }
    tilek_status status = list->status;
    if (status != TILEK_OK)
        *why = list->why;
    else if ((*chosen = chosen_among(list, number, name_part, why)) < 0)
        status = TILEK_NO_DEVICE;
    tilek_unlock(list->lock);
    return status;
}

void tilek_forget_devices(tilek_device_list *list)
{
    list->count = 0;
    list->first = NULL;
    list->status = TILEK_NO_DEVICE;
    tilek_say(&list->why, "%s was shut down", list->api);
}
