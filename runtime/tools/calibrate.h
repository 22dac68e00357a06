/* calibrate.h: what the parts of the calibration program share. Internal; `tilepragma devices
 * --calibrate` builds and runs it. */
#ifndef TILEK_CALIBRATE_H
#define TILEK_CALIBRATE_H

#include "device/common/backend.h"

enum { TILEK_MOST_SAMPLES = 101, TILEK_LEAST_SAMPLES = 3 };

/* What is measured, and for how long each number. Of a host `backend`, `device` and `limits` are
 * NULL. */
typedef struct tilek_subject {
    tilek_target target;
    const tilek_backend *backend;
    tilek_device *device;
    const tilek_limits *limits;
    int64_t units;  /* cores, multiprocessors */
    double seconds; /* for one number, all its samples together */
} tilek_subject;

/* In the order they were taken. */
typedef struct tilek_samples { double values[TILEK_MOST_SAMPLES]; int count; } tilek_samples;

/* Does what is measured `repeats` times in a row. */
typedef tilek_status (*tilek_batch)(void *context, int64_t repeats, tilek_message *why);

/* Fills `samples` with the seconds of one repeat: the batch is made long enough for the clock, run
 * once for warmth, and then as often as the subject's seconds allow, TILEK_LEAST_SAMPLES times at
 * least. */
tilek_status tilek_take_samples(const tilek_subject *subject, tilek_batch batch, void *context, tilek_samples *samples,
                                tilek_message *why);

/* From seconds of a repeat to amounts a second, `amount` being what one repeat does. */
void tilek_as_rates(tilek_samples *samples, double amount);

/* One kind of measurement; `argument` is its own matter: bytes, workers, gangs. */
typedef tilek_status (*tilek_measure)(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                      tilek_message *why);

/* ---- On the cores (calibrate_host.c) ---- */
/* Hz; argument unused */
tilek_status tilek_measure_clock(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                 tilek_message *why);
/* bytes; argument unused */
tilek_status tilek_measure_vector(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                  tilek_message *why);
/* operations a second; bytes of a number: 4, 8 */
tilek_status tilek_measure_host_rate(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                     tilek_message *why);
/* bytes a second; bytes of one core's data */
tilek_status tilek_measure_host_stream(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                       tilek_message *why);

/* ---- Programs of a device (calibrate_device.c) ---- */
/* as on cores */
tilek_status tilek_measure_device_rate(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                       tilek_message *why);
/* bytes a second; bytes of all data */
tilek_status tilek_measure_device_stream(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                         tilek_message *why);
/* bytes read a second; bytes of all data, a power of 2 */
tilek_status tilek_measure_cached(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                  tilek_message *why);
/* bytes read a second from gangs' own memory; workers */
tilek_status tilek_measure_shared(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                  tilek_message *why);
/* seconds; workers */
tilek_status tilek_measure_barrier(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                   tilek_message *why);

/* ---- What the device says (calibrate_cuda.c, calibrate_opencl.c) ----
 * The number behind a CUdevice_attribute or a cl_device_info. */
tilek_status tilek_ask_cuda(const tilek_subject *subject, int64_t argument, tilek_samples *samples, tilek_message *why);
tilek_status tilek_ask_opencl(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                              tilek_message *why);

/* ---- Through the runtime, as users' kernels and data go (calibrate_launches.c) ---- */
/* seconds; gangs */
tilek_status tilek_measure_launch(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                  tilek_message *why);
/* seconds; gangs */
tilek_status tilek_measure_wavefront(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                     tilek_message *why);
/* seconds; bytes */
tilek_status tilek_measure_copy_in(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                   tilek_message *why);
/* seconds; bytes */
tilek_status tilek_measure_copy_out(const tilek_subject *subject, int64_t argument, tilek_samples *samples,
                                    tilek_message *why);

#endif
