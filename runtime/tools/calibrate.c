/* calibrate.c: measures what a launch, a barrier, a copy and a byte cost on one device, for the
 * model that chooses tile sizes.
 *
 *     calibrate MILLISECONDS MEASURE:ARGUMENT...
 *
 * The device is that of TILEK_TARGET and TILEK_DEVICE. One line for each word, as soon as it is
 * known, tab-separated: the word, then the samples; or the word, "-" and why there are none. Which
 * measurements make sense on a device is the caller's business
 * (tilepragma/tuning/calibration.py). */
#define _POSIX_C_SOURCE 200809L
#include "tools/calibrate.h"

#include "base/environment.h"
#include "base/message.h"
#include "device/open_devices.h"
#include "host/cores.h"
#include "kernel/profile.h"
#include "kernel/targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A batch takes this part of what there is for a number, and no longer than a system usually leaves
 * a core to one thread: where others run too, some batches then still have the cores for
 * themselves. */
enum { BATCHES = 12, FASTEST_GROWTH = 16 };
static const double longest_batch = 4e-3;

static tilek_status timed(tilek_batch batch, void *context, int64_t repeats, double *seconds, tilek_message *why)
{
    const int64_t start = tilek_now();
    const tilek_status status = batch(context, repeats, why);
    *seconds = (double)(tilek_now() - start) * 1e-9;
    return status;
}

tilek_status tilek_take_samples(const tilek_subject *subject, tilek_batch batch, void *context, tilek_samples *samples,
                                tilek_message *why)
{
    const double share = subject->seconds / BATCHES, wanted = share < longest_batch ? share : longest_batch;
    int64_t repeats = 1;
    double took = 0, spent = 0;
    tilek_status status = timed(batch, context, repeats, &took, why); /* the first one also makes what is made once */
    while (status == TILEK_OK && (status = timed(batch, context, repeats, &took, why)) == TILEK_OK &&
           took < wanted / 2) {
        const double growth = took > 0 ? wanted / took : FASTEST_GROWTH;
        repeats *= growth < 2 ? 2 : growth > FASTEST_GROWTH ? FASTEST_GROWTH : (int64_t)growth;
    }
    samples->count = 0;
    while (status == TILEK_OK && samples->count < TILEK_MOST_SAMPLES &&
           (spent < subject->seconds || samples->count < TILEK_LEAST_SAMPLES)) {
        status = timed(batch, context, repeats, &took, why);
        samples->values[samples->count++] = took / (double)repeats;
        spent += took;
    }
    return status;
}

void tilek_as_rates(tilek_samples *samples, double amount)
{
    for (int index = 0; index < samples->count; ++index)
        samples->values[index] = samples->values[index] > 0 ? amount / samples->values[index] : 0;
}

static tilek_status ask(const tilek_subject *subject, int64_t argument, tilek_samples *samples, tilek_message *why)
{
    return subject->target == TILEK_CUDA ? tilek_ask_cuda(subject, argument, samples, why)
                                         : tilek_ask_opencl(subject, argument, samples, why);
}

typedef struct named_measure { const char *name; tilek_measure on_host, on_device; } named_measure;

static const named_measure measures[] = {
    {"attribute", NULL, ask},
    {"clock", tilek_measure_clock, NULL},
    {"vector", tilek_measure_vector, NULL},
    {"rate", tilek_measure_host_rate, tilek_measure_device_rate},
    {"stream", tilek_measure_host_stream, tilek_measure_device_stream},
    {"cached", NULL, tilek_measure_cached},
    {"shared", NULL, tilek_measure_shared},
    {"barrier", NULL, tilek_measure_barrier},
    {"launch", tilek_measure_launch, tilek_measure_launch},
    {"wavefront", tilek_measure_wavefront, tilek_measure_wavefront},
    {"copy_in", NULL, tilek_measure_copy_in},
    {"copy_out", NULL, tilek_measure_copy_out},
};

/* "stream:4096" as what to call with 4096; NULL where there is no such measurement. */
static tilek_measure measure_of(const tilek_subject *subject, const char *word, int64_t *argument)
{
    const size_t length = strcspn(word, ":");
    char *end = NULL;
    *argument = word[length] == ':' ? strtoll(word + length + 1, &end, 10) : 0;
    if (end != NULL && (*end != '\0' || *argument < 1)) return NULL;
    for (size_t index = 0; index < sizeof measures / sizeof *measures; ++index)
        if (strlen(measures[index].name) == length && strncmp(measures[index].name, word, length) == 0)
            return subject->device != NULL ? measures[index].on_device : measures[index].on_host;
    return NULL;
}

static void perform(const tilek_subject *subject, const char *word)
{
    tilek_samples samples = {{0}, 0};
    tilek_message why = {{0}};
    int64_t argument = 0;
    const tilek_measure measure = measure_of(subject, word, &argument);
    tilek_status status = TILEK_INVALID;
    if (measure == NULL) tilek_say(&why, "there is no such measurement on this device");
    else status = measure(subject, argument, &samples, &why);
    (void)fputs(word, stdout);
    if (status != TILEK_OK) {
        why.text[strcspn(why.text, "\t\n")] = '\0';
        (void)printf("\t-\t%s", why.text);
    }
    for (int index = 0; status == TILEK_OK && index < samples.count; ++index)
        (void)printf("\t%.9g", samples.values[index]);
    (void)putchar('\n');
    (void)fflush(stdout);
}

static tilek_status open_subject(tilek_subject *subject, tilek_message *why)
{
    const tilek_settings *settings = tilek_get_settings();
    tilek_status status = TILEK_OK;
    subject->target = settings->target_given ? settings->target : TILEK_THREADS;
    subject->units = settings->threads > 0 ? settings->threads : tilek_core_count();
    if (subject->target != TILEK_OPENCL && subject->target != TILEK_CUDA) return TILEK_OK;
    status = tilek_open_device(subject->target, -1, 0, &subject->backend, &subject->device, why);
    if (status != TILEK_OK) return status;
    subject->limits = subject->backend->limits(subject->device);
    subject->units = tilek_maximum(subject->limits->compute_units, 1);
    return TILEK_OK;
}

int main(int count, char *words[])
{
    tilek_subject subject = {TILEK_THREADS, NULL, NULL, NULL, 1, 0};
    tilek_message why = {{0}};
    if (count < 2 || (subject.seconds = strtod(words[1], NULL) * 1e-3) <= 0) {
        (void)fputs("usage: calibrate MILLISECONDS MEASURE:ARGUMENT...\n", stderr);
        return 2;
    }
    if (open_subject(&subject, &why) != TILEK_OK) {
        (void)fprintf(stderr, "%s\n", why.text);
        return 1;
    }
    for (int index = 2; index < count; ++index) perform(&subject, words[index]);
    return 0;
}
