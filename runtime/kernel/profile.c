/* profile.c: TILEK_PROFILE: a table at exit, or a trace that chrome://tracing and Perfetto open. */
#define _POSIX_C_SOURCE 200809L
#include "kernel/profile.h"

#include "base/environment.h"
#include "base/locks.h"
#include "base/message.h"
#include "base/rank.h"
#include "kernel/targets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_EVENTS = 1 << 20 };

typedef struct event {
    const tilek_state *state;
    const char *name; /* of the launch, NULL for others */
    int is_hosts; /* it is one of hosts */
    tilek_target target;
    tilek_activity activity;
    int64_t start, duration;
    size_t bytes;
    uint64_t thread;
    const tilek_traced_sizes *taken; /* NULL: none */
} event;

static const char *const activity_names[] = {"kernel", "copy in", "copy out", "compile"};

static tilek_figures data_figures[TILEK_TARGETS + 1]; /* of data directives */
static double bandwidths[TILEK_TARGETS + 1];          /* 0: not known */
static event *events;
static size_t event_count, event_room;
static int64_t first_time;
static pid_t owner; /* a fork's child writes no trace over its parent's */

int tilek_profiling(void)
{
    const tilek_settings *settings = tilek_get_settings();
    return settings->profile || settings->trace != NULL;
}

static void add_event(const event *added)
{
    if (event_count == event_room) {
        const size_t room = event_room > 0 ? 2 * event_room : 256;
        event *larger = room <= MOST_EVENTS ? realloc(events, room * sizeof *events) : NULL;
        if (larger == NULL) return; /* the trace ends here; the program goes on */
        events = larger;
        event_room = room;
    }
    events[event_count++] = *added;
}

static uint64_t thread_number(void)
{
    const pthread_t self = pthread_self();
    uint64_t number = 0;
    memcpy(&number, &self, sizeof self < sizeof number ? sizeof self : sizeof number);
    return number >> 12 & 0xffffffu; /* JSON readers keep 53 bits */
}

/* The kernel's own copy of a call's tile sizes; NULL where there are none, or memory is
 * exhausted. */
static const tilek_traced_sizes *traced_sizes_of(tilek_state *state, const int64_t sizes[])
{
    const size_t bytes = (size_t)state->kernel->size_count * sizeof *sizes;
    tilek_traced_sizes *taken = state->taken;
    if (bytes == 0) return NULL;
    while (taken != NULL && memcmp(taken->sizes, sizes, bytes) != 0) taken = taken->next;
    if (taken != NULL || (taken = malloc(sizeof *taken + bytes)) == NULL) return taken;
    memcpy(taken->sizes, sizes, bytes);
    taken->next = state->taken;
    state->taken = taken;
    return taken;
}

static void record(tilek_state *state, const char *name, int is_hosts, tilek_target target, tilek_activity activity,
                   const int64_t sizes[], int64_t start, int64_t duration, size_t bytes)
{
    tilek_figures *figures = state != NULL ? &state->figures[target] : &data_figures[target];
    switch (activity) {
    case TILEK_ACTIVITY_KERNEL:
        figures->kernel_nanoseconds += duration;
        figures->bytes_touched += (int64_t)bytes;
        break;
    case TILEK_ACTIVITY_COPY_IN: figures->copy_nanoseconds += duration; figures->bytes_in += (int64_t)bytes; break;
    case TILEK_ACTIVITY_COPY_OUT: figures->copy_nanoseconds += duration; figures->bytes_out += (int64_t)bytes; break;
    case TILEK_ACTIVITY_COMPILE: figures->compile_nanoseconds += duration; break;
    }
    if (owner == 0) owner = getpid();
    if (first_time == 0 || start < first_time) first_time = start;
    if (tilek_get_settings()->trace != NULL) {
        const event added = {state,           name,
                             is_hosts,        target,
                             activity,        start,
                             duration,        bytes,
                             thread_number(), sizes != NULL ? traced_sizes_of(state, sizes) : NULL};
        add_event(&added);
    }
}

void tilek_record(tilek_state *state, tilek_target target, tilek_activity activity, int64_t start, int64_t duration,
                  size_t bytes)
{
    if (!tilek_profiling()) return;
    tilek_lock(TILEK_LOCK_PROFILE);
    record(state, NULL, 0, target, activity, NULL, start, duration, bytes);
    tilek_unlock(TILEK_LOCK_PROFILE);
}

static int launch_count(const tilek_kernel *kernel, int is_hosts)
{
    return is_hosts ? kernel->host_launch_count : kernel->device_launch_count;
}

static const char *launch_name(const tilek_kernel *kernel, int is_hosts, int launch)
{
    return (is_hosts ? kernel->host_launches : kernel->device_launches)[launch].entry;
}

void tilek_record_step(tilek_state *state, tilek_target target, int is_hosts, int launch, const int64_t sizes[],
                       int64_t start, int64_t duration, size_t bytes)
{
    if (!tilek_profiling()) return;
    tilek_lock(TILEK_LOCK_PROFILE);
    tilek_step_figures **const figures = &state->steps[target][is_hosts];
    if (*figures == NULL) *figures = calloc((size_t)launch_count(state->kernel, is_hosts), sizeof **figures);
    if (*figures != NULL) {
        ++(*figures)[launch].steps;
        (*figures)[launch].nanoseconds += duration;
    }
    record(state, launch_name(state->kernel, is_hosts, launch), is_hosts, target, TILEK_ACTIVITY_KERNEL, sizes, start,
           duration, bytes);
    tilek_unlock(TILEK_LOCK_PROFILE);
}

void tilek_record_launch(tilek_state *state, tilek_target target, const tilek_call *call)
{
    tilek_lock(TILEK_LOCK_PROFILE);
    ++state->figures[target].launches;
    state->figures[target].operations += call->operations;
    tilek_unlock(TILEK_LOCK_PROFILE);
}

void tilek_record_limits(tilek_target target, const tilek_limits *limits)
{
    tilek_lock(TILEK_LOCK_PROFILE);
    bandwidths[target] = limits->bandwidth;
    tilek_unlock(TILEK_LOCK_PROFILE);
}

void tilek_record_local_bytes(tilek_state *state, tilek_target target, int64_t bytes)
{
    if (!tilek_profiling()) return;
    tilek_lock(TILEK_LOCK_PROFILE);
    state->local_bytes[target] = bytes;
    tilek_unlock(TILEK_LOCK_PROFILE);
}

void tilek_record_long_array(tilek_state *state, tilek_target target, const char *array)
{
    if (!tilek_profiling()) return;
    tilek_lock(TILEK_LOCK_PROFILE);
    state->long_arrays[target] = array;
    tilek_unlock(TILEK_LOCK_PROFILE);
}

/* A number to one decimal, or "-" where there is nothing to say. */
static const char *figure(char *room, size_t size, double value)
{
    if (value > 0) (void)snprintf(room, size, "%.1f", value);
    else (void)snprintf(room, size, "-");
    return room;
}

static void print_row(const char *name, tilek_target target, const tilek_figures *figures)
{
    char rate[32], share[32], copies[32], flops[32];
    const int64_t moved = figures->bytes_in + figures->bytes_out;
    const double speed = figures->kernel_nanoseconds > 0
                           ? (double)figures->bytes_touched / (double)figures->kernel_nanoseconds
                           : 0;
    const double copy_speed = figures->copy_nanoseconds > 0 ? (double)moved / (double)figures->copy_nanoseconds : 0;
    const double flop_rate = figures->kernel_nanoseconds > 0 ? figures->operations / (double)figures->kernel_nanoseconds
                                                             : 0;
    if (figures->launches == 0 && moved == 0 && figures->compile_nanoseconds == 0) return;
    (void)fprintf(stderr, "%s%-24.24s %-8s %9" PRId64 " %12.3f %12.3f %12.3f %9.1f %9s %9s %9s %8s\n",
                  tilek_rank_prefix(), name, tilek_target_name(target), figures->launches,
                  (double)figures->kernel_nanoseconds / 1e6, (double)figures->copy_nanoseconds / 1e6,
                  (double)figures->compile_nanoseconds / 1e6, (double)moved / 1e6,
                  figure(copies, sizeof copies, copy_speed), figure(rate, sizeof rate, speed),
                  figure(flops, sizeof flops, flop_rate),
                  figure(share, sizeof share, bandwidths[target] > 0 ? 100e9 * speed / bandwidths[target] : 0));
}

/* Where launches run in steps, how often each did, and how long all its steps took. */
static void print_steps(const tilek_state *state, tilek_target target, int is_hosts)
{
    const tilek_kernel *kernel = state->kernel;
    const tilek_step_figures *const all = state->steps[target][is_hosts];
    const int in_steps = (is_hosts ? kernel->host_steps : kernel->device_steps) != NULL;
    for (int launch = 0; in_steps && all != NULL && launch < launch_count(kernel, is_hosts); ++launch) {
        const tilek_step_figures *figures = &all[launch];
        if (figures->steps == 0) continue;
        (void)fprintf(stderr, "%s  %-22.22s %-8s %9" PRId64 " %12.3f\n", tilek_rank_prefix(),
                      launch_name(kernel, is_hosts, launch), tilek_target_name(target), figures->steps,
                      (double)figures->nanoseconds / 1e6);
    }
}

/* The numbers that programs of the kernel take as arguments, since they changed from launch to
 * launch. The caller holds the states' lock. */
static void print_changing(const tilek_state *state)
{
    int count = 0;
    for (int index = 0; index < state->changing_count; ++index) {
        if (!state->changing[index].is_argument) continue;
        (void)fprintf(stderr, "%s%s%s", count == 0 ? tilek_rank_prefix() : "",
                      count == 0 ? "  arguments, since they change: " : ", ", state->changing[index].name);
        ++count;
    }
    if (count > 0) (void)fputc('\n', stderr);
}

/* What a target's device was given in place of what was planned. */
static void print_limits(const tilek_state *state, tilek_target target)
{
    const char *const name = tilek_target_name(target);
    if (state->local_bytes[target] > 0)
        (void)fprintf(stderr,
                      "%s  %s: array tiles of at most %" PRId64 " bytes are staged, since a gang has no more; %" PRId64
                      " were planned\n",
                      tilek_rank_prefix(), name, state->local_bytes[target], state->kernel->local_bytes);
    if (state->long_arrays[target] != NULL)
        (void)fprintf(stderr, "%s  %s: indices of 64 bits, since elements of %s lie beyond 2^30\n",
                      tilek_rank_prefix(), name, state->long_arrays[target]);
}

static void print_table(void (*print_tuned)(const tilek_state *state))
{
    (void)fprintf(stderr, "%s%-24s %-8s %9s %12s %12s %12s %9s %9s %9s %9s %8s\n", tilek_rank_prefix(), "tilek: kernel",
                  "target", "launches", "kernel ms", "copy ms", "compile ms", "copied MB", "copy GB/s", "GB/s",
                  "GFLOP/s", "% limit");
    for (const tilek_state *state = tilek_first_state(); state != NULL; state = state->next)
        for (int target = 0; target <= TILEK_TARGETS; ++target) {
            char name[64];
            if (state->kernel->version == 0) (void)snprintf(name, sizeof name, "%s", state->kernel->name);
            else (void)snprintf(name, sizeof name, "%.12s, version %d", state->kernel->name, state->kernel->version);
            print_row(name, (tilek_target)target, &state->figures[target]);
            for (int is_hosts = 0; target < TILEK_TARGETS && is_hosts < 2; ++is_hosts)
                print_steps(state, (tilek_target)target, is_hosts);
            if (target < TILEK_TARGETS) print_limits(state, (tilek_target)target);
            if (target == TILEK_TARGETS) print_changing(state);
        }
    for (int target = 0; target <= TILEK_TARGETS; ++target)
        print_row("(data directives)", (tilek_target)target, &data_figures[target]);
    if (tilek_get_settings()->adapt) (void)fputs("tilek: adapted tile sizes\n", stderr);
    for (const tilek_state *state = tilek_first_state(); state != NULL; state = state->next) print_tuned(state);
}

/* The bytes of the character of UTF-8 at `text`, 0 where there is none: names of files may have any
 * bytes. */
static int utf8_bytes(const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;
    const int length = byte[0] < 0x80 ? 1
                     : byte[0] < 0xC2 ? 0
                     : byte[0] < 0xE0 ? 2
                     : byte[0] < 0xF0 ? 3
                     : byte[0] < 0xF5 ? 4
                                      : 0;
    for (int k = 1; k < length; ++k)
        if ((byte[k] & 0xC0) != 0x80) return 0;
    if ((byte[0] == 0xE0 && byte[1] < 0xA0) || (byte[0] == 0xED && byte[1] >= 0xA0) ||
        (byte[0] == 0xF0 && byte[1] < 0x90) || (byte[0] == 0xF4 && byte[1] >= 0x90))
        return 0;
    return length;
}

static void write_string(FILE *file, const char *text)
{
    (void)fputc('"', file);
    while (*text != '\0') {
        const int length = utf8_bytes(text);
        if (length == 0) (void)fputs("\\ufffd", file);
        else if (*text == '"' || *text == '\\') (void)fprintf(file, "\\%c", *text);
        else if ((unsigned char)*text < 0x20) (void)fprintf(file, "\\u%04x", (unsigned)*text);
        else (void)fwrite(text, 1, (size_t)length, file);
        text += length == 0 ? 1 : length;
    }
    (void)fputc('"', file);
}

static void write_sizes(FILE *file, const tilek_kernel *kernel, const int64_t sizes[])
{
    (void)fputs(", \"tile sizes\": {", file);
    for (int index = 0; index < kernel->size_count; ++index) {
        if (index > 0) (void)fputs(", ", file);
        write_string(file, kernel->sizes[index].name);
        (void)fprintf(file, ": %" PRId64, sizes[index]);
    }
    (void)fputc('}', file);
}

static void write_event(FILE *file, const event *traced)
{
    (void)fprintf(file,
                  "{\"ph\": \"X\", \"pid\": %ld, \"tid\": %" PRIu64
                  ", \"ts\": %.3f, \"dur\": %.3f, \"cat\": \"%s\", \"name\": ",
                  (long)owner, traced->thread, (double)(traced->start - first_time) / 1e3,
                  (double)traced->duration / 1e3, activity_names[traced->activity]);
    write_string(file, traced->name != NULL ? traced->name
                       : traced->activity == TILEK_ACTIVITY_KERNEL && traced->state != NULL
                           ? traced->state->kernel->name
                           : activity_names[traced->activity]);
    (void)fprintf(file,
                  ", \"args\": {\"target\": \"%s\", \"bytes\": %zu, \"kernel\": ", tilek_target_name(traced->target),
                  traced->bytes);
    write_string(file, traced->state != NULL ? traced->state->kernel->name : "");
    if (traced->activity == TILEK_ACTIVITY_KERNEL)
        (void)fprintf(file, ", \"form\": \"%s\"", traced->is_hosts ? "host" : "device");
    (void)fputs(", \"source\": ", file);
    write_string(file, traced->state != NULL ? traced->state->kernel->file : "");
    (void)fprintf(file, ", \"line\": %d", traced->state != NULL ? traced->state->kernel->line : 0);
    if (traced->state != NULL && traced->state->kernel->version > 0) {
        (void)fprintf(file, ", \"version\": %d, \"version text\": ", traced->state->kernel->version);
        write_string(file, traced->state->kernel->version_text);
    }
    if (traced->taken != NULL) write_sizes(file, traced->state->kernel, traced->taken->sizes);
    (void)fputs("}}", file);
}

/* The trace appears under its name when it is complete: FILE.json, of a rank FILE.RANK.json. */
static void write_trace(const char *given)
{
    char name[4096], temporary[4096 + 32];
    const int stem = (int)strlen(given) - 5; /* the settings take no name without .json */
    FILE *file;
    int failed = tilek_rank() < 0 ? snprintf(name, sizeof name, "%s", given) >= (int)sizeof name
                                  : snprintf(name, sizeof name, "%.*s.%" PRId64 ".json", stem, given, tilek_rank()) >=
                                        (int)sizeof name;
    (void)snprintf(temporary, sizeof temporary, "%s.%ld", name, (long)getpid());
    file = failed ? NULL : fopen(temporary, "w");
    if (file == NULL) {
        tilek_warn(NULL, 0, "the trace %s cannot be written", name);
        return;
    }
    (void)fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n", file);
    for (size_t index = 0; index < event_count; ++index) {
        write_event(file, &events[index]);
        (void)fputs(index + 1 < event_count ? ",\n" : "\n", file);
    }
    (void)fputs("]}\n", file);
    failed = ferror(file);
    failed |= fclose(file) != 0;
    if (!failed) failed = rename(temporary, name) != 0;
    if (failed) (void)remove(temporary);
    if (failed) tilek_warn(NULL, 0, "the trace %s cannot be written", name);
}

void tilek_profile_finish(void (*print_tuned)(const tilek_state *state))
{
    const tilek_settings *settings = tilek_get_settings();
    tilek_state_lock();
    tilek_lock(TILEK_LOCK_PROFILE);
    if (settings->profile) print_table(print_tuned);
    if (settings->trace != NULL && (owner == 0 || owner == getpid())) write_trace(settings->trace);
    free(events);
    events = NULL;
    event_count = event_room = 0;
    tilek_unlock(TILEK_LOCK_PROFILE);
    tilek_state_unlock();
}
