/* array_diff.c: differences between two copies of an array's section, in long double, which holds
 * every other type's values. */
#define _POSIX_C_SOURCE 200809L
#include "check/array_diff.h"

#include "launch/reduction.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct walk {
    const tilek_array_shape *shape;
    const tilek_array *array;
    const char *result, *reference;
    tilek_array_diff *diff;
    double asked;
    tilek_field field;
    size_t part;         /* of the field's `count` */
    long double largest; /* magnitude of the reference over the section */
    int measuring;       /* the first pass, that finds `largest` */
    int64_t index[TILEK_MAX_RANK];
} walk;

#define LOAD(TYPE) { TYPE value; memcpy(&value, place, sizeof value); return (long double)value; }

static long double load(tilek_type type, const char *place)
{
    switch (type) {
    case TILEK_INT8: LOAD(int8_t)
    case TILEK_UINT8: LOAD(uint8_t)
    case TILEK_INT16: LOAD(int16_t)
    case TILEK_UINT16: LOAD(uint16_t)
    case TILEK_INT32: LOAD(int32_t)
    case TILEK_UINT32: LOAD(uint32_t)
    case TILEK_INT64: LOAD(int64_t)
    case TILEK_UINT64: LOAD(uint64_t)
    case TILEK_FLOAT: LOAD(float)
    case TILEK_DOUBLE: LOAD(double)
    case TILEK_LONG_DOUBLE: LOAD(long double)
    case TILEK_BOOL: LOAD(uint8_t)
    }
    return 0;
}

static int is_floating(tilek_type type)
{
    return type == TILEK_FLOAT || type == TILEK_DOUBLE || type == TILEK_LONG_DOUBLE;
}

static double tolerance_of(const walk *job)
{
    if (job->asked >= 0) return job->asked;
    if (!is_floating(job->field.type)) return 0;
    return job->field.type == TILEK_FLOAT ? 1e-5 : 1e-12;
}

static void name_element(const walk *job)
{
    char *text = job->diff->element;
    const size_t room = sizeof job->diff->element;
    size_t used = (size_t)snprintf(text, room, "%.200s", job->shape->name);
    for (int dimension = 0; job->shape->storage != TILEK_SCALAR && dimension < job->shape->rank && used < room;
         ++dimension)
        used += (size_t)snprintf(text + used, room - used, "[%" PRId64 "]", job->index[dimension]);
    if (job->field.name != NULL && job->field.name[0] != '\0' && used < room)
        used += (size_t)snprintf(text + used, room - used, ".%.100s", job->field.name);
    if (job->field.count > 1 && used < room) (void)snprintf(text + used, room - used, "[%zu]", job->part);
}

/* Differences that rounding at the section's largest magnitude explains; none where the user said
 * what to tolerate. */
static long double noise_of(const walk *job)
{
    if (job->asked >= 0 || !is_floating(job->field.type)) return 0;
    return 4 * (job->field.type == TILEK_FLOAT ? (long double)FLT_EPSILON : (long double)DBL_EPSILON) * job->largest;
}

static void compare_values(walk *job, size_t offset)
{
    const long double result = load(job->field.type, job->result + offset),
                      reference = load(job->field.type, job->reference + offset);
    const long double magnitude = fabsl(result) > fabsl(reference) ? fabsl(result) : fabsl(reference);
    long double absolute = fabsl(result - reference), relative;
    if (job->measuring) {
        if (isfinite(reference) && fabsl(reference) > job->largest) job->largest = fabsl(reference);
        return;
    }
    if (result == reference || (isnan(result) && isnan(reference))) return;
    if (isnan(absolute)) absolute = HUGE_VALL; /* NaN against a number */
    relative = isfinite(absolute) ? absolute / magnitude : HUGE_VALL;
    if ((double)absolute > job->diff->absolute) job->diff->absolute = (double)absolute;
    if ((double)relative > job->diff->relative) job->diff->relative = (double)relative;
    if (job->diff->beyond || relative <= tolerance_of(job) || absolute <= noise_of(job)) return;
    job->diff->beyond = 1;
    job->diff->result = (double)result;
    job->diff->reference = (double)reference;
    job->diff->element_absolute = (double)absolute;
    job->diff->element_relative = (double)relative;
    job->diff->tolerance = tolerance_of(job);
    name_element(job);
}

/* `element` counts from the copy's start. */
static void walk_section(walk *job, int dimension, size_t element)
{
    const int64_t *strides = job->shape->storage == TILEK_ROWS ? job->array->length : job->array->extent;
    size_t stride = 1;
    if (job->shape->storage == TILEK_SCALAR || dimension == job->shape->rank) {
        compare_values(job, element * job->shape->element_size + job->field.offset +
                                job->part * tilek_type_size(job->field.type));
        return;
    }
    for (int inner = dimension + 1; inner < job->shape->rank; ++inner) stride *= (size_t)strides[inner];
    for (int64_t place = 0; place < job->array->length[dimension]; ++place) {
        job->index[dimension] = job->array->lower[dimension] + place;
        walk_section(job, dimension + 1, element + (size_t)place * stride);
    }
}

void tilek_diff_arrays(const tilek_array_shape *shape, const tilek_array *array, const void *result,
                       const void *reference, double tolerance, tilek_array_diff *diff)
{
    const tilek_field bytes = {"", 0, TILEK_UINT8, shape->element_size}; /* of an element whose fields are not known */
    walk job = {shape, array, result, reference, diff, tolerance, bytes, 0, 0, 0, {0}};
    memset(diff, 0, sizeof *diff);
    for (int field = 0; field < (shape->field_count > 0 ? shape->field_count : 1); ++field) {
        job.field = shape->field_count > 0 ? shape->fields[field] : bytes;
        job.largest = 0;
        for (int pass = 0; pass < 2; ++pass) {
            job.measuring = pass == 0;
            for (job.part = 0; job.part < job.field.count; ++job.part) walk_section(&job, 0, 0);
        }
    }
}
