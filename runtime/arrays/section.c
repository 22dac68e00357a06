/* section.c: the host memory of an array's section; packing of rows. */
#define _POSIX_C_SOURCE 200809L
#include "arrays/section.h"

#include "base/message.h"

#include <inttypes.h>
#include <string.h>

static tilek_status refuse(const tilek_array_shape *shape, const char *reason, tilek_message *why)
{
    tilek_say(why, "the section of %s %s", shape->name, reason);
    return TILEK_INVALID;
}

/* Lets the section, whose bytes are known, begin at this element, which may stand before the base;
 * 0 where its memory has no addresses. */
static int move_start(const tilek_array *array, int64_t index, size_t element_size, tilek_section *section)
{
    const uintptr_t base = (uintptr_t)array->base;
    int64_t distance;
    if (__builtin_mul_overflow(index, (int64_t)element_size, &distance)) return 0;
    if (distance < 0 ? base < (uintptr_t)0 - (uintptr_t)distance : (uintptr_t)distance > UINTPTR_MAX - base) return 0;
    section->start = (char *)(base + (uintptr_t)distance);
    return section->bytes <= UINTPTR_MAX - (base + (uintptr_t)distance);
}

static tilek_status find_rows(const tilek_array_shape *shape, const tilek_array *array, tilek_section *section,
                              tilek_message *why)
{
    size_t packed = shape->element_size;
    if (shape->rank < 2 || shape->rank > TILEK_MAX_RANK)
        return refuse(shape, "has an unknown number of dimensions", why);
    for (int dimension = 0; dimension < shape->rank; ++dimension)
        if (__builtin_mul_overflow(packed, (size_t)array->length[dimension], &packed))
            return refuse(shape, "is larger than memory", why);
    if (__builtin_mul_overflow((size_t)array->length[0], sizeof(void *), &section->bytes) ||
        !move_start(array, array->lower[0], sizeof(void *), section))
        return refuse(shape, "is larger than memory", why);
    section->device_bytes = packed;
    section->is_rows = 1;
    return TILEK_OK;
}

static tilek_status find_contiguous(const tilek_array_shape *shape, const tilek_array *array, tilek_section *section,
                                    tilek_message *why)
{
    int64_t stride = 1, first = 0, last = 0, points = 1, offset = 0, elements = 0;
    int beyond = shape->rank > TILEK_MAX_RANK;
    for (int dimension = shape->rank - 1; dimension >= 0 && !beyond; --dimension) {
        beyond |= __builtin_mul_overflow(stride, array->lower[dimension], &offset) ||
                  __builtin_add_overflow(first, offset, &first);
        beyond |= __builtin_mul_overflow(stride, array->lower[dimension] + (array->length[dimension] - 1), &offset) ||
                  __builtin_add_overflow(last, offset, &last);
        beyond |= __builtin_mul_overflow(points, array->length[dimension], &points);
        if (dimension > 0) beyond |= __builtin_mul_overflow(stride, array->extent[dimension], &stride);
    }
    beyond = beyond || __builtin_sub_overflow(last, first, &elements) || __builtin_add_overflow(elements, 1, &elements);
    beyond = beyond || __builtin_mul_overflow(elements, (int64_t)shape->element_size, &offset);
    section->bytes = section->device_bytes = (size_t)offset;
    if (beyond || offset < 0 || !move_start(array, first, shape->element_size, section))
        return refuse(shape, "is larger than memory", why);
    section->is_dense = points == elements;
    return TILEK_OK;
}

tilek_status tilek_section_of(const tilek_array_shape *shape, const tilek_array *array, tilek_section *section,
                              tilek_message *why)
{
    memset(section, 0, sizeof *section);
    section->start = array->base;
    section->is_dense = 1;
    if (shape->storage == TILEK_SCALAR) {
        section->bytes = section->device_bytes = shape->element_size;
        return TILEK_OK;
    }
    for (int dimension = 0; dimension < shape->rank && dimension < TILEK_MAX_RANK; ++dimension) {
        int64_t end;
        if (array->length[dimension] <= 0) return TILEK_OK; /* empty */
        if (__builtin_add_overflow(array->lower[dimension], array->length[dimension], &end))
            return refuse(shape, "is larger than memory", why);
        /* A lower bound below 0 is for pointers into the middle of an object; only the first
         * dimension can mean that. */
        if (dimension > 0 && array->lower[dimension] < 0) return refuse(shape, "has a negative lower bound", why);
        if (shape->storage == TILEK_CONTIGUOUS && (dimension > 0 || array->extent[0] >= 0) &&
            end > array->extent[dimension]) {
            tilek_say(why, "the section of %s ends at %" PRId64 " in dimension %d, which has a length of %" PRId64,
                      shape->name, end, dimension, array->extent[dimension]);
            return TILEK_INVALID;
        }
    }
    /* nothing of it is touched */
    if (array->base == NULL && (shape->flags & TILEK_POSSIBLE_EXTENT) != 0) return TILEK_OK;
    if (array->base == NULL) return refuse(shape, "is of a null pointer", why);
    return shape->storage == TILEK_ROWS ? find_rows(shape, array, section, why)
                                        : find_contiguous(shape, array, section, why);
}

size_t tilek_section_bytes(const tilek_array_shape *shape, const tilek_array *array)
{
    size_t bytes = shape->element_size;
    int beyond = shape->rank > TILEK_MAX_RANK;
    for (int dimension = 0; dimension < shape->rank && dimension < TILEK_MAX_RANK; ++dimension) {
        if (array->length[dimension] <= 0) return 0;
        beyond |= __builtin_mul_overflow(bytes, (size_t)array->length[dimension], &bytes);
    }
    return beyond ? SIZE_MAX : bytes;
}

int tilek_sections_meet(const tilek_section *a, const tilek_section *b)
{
    return a->bytes > 0 && b->bytes > 0 && (uintptr_t)a->start < (uintptr_t)b->start + b->bytes &&
           (uintptr_t)b->start < (uintptr_t)a->start + a->bytes;
}

int tilek_section_inside(const tilek_section *inner, const tilek_section *outer)
{
    return (uintptr_t)inner->start >= (uintptr_t)outer->start &&
           (uintptr_t)inner->start + inner->bytes <= (uintptr_t)outer->start + outer->bytes;
}

typedef enum motion { CHECK, PACK, UNPACK } motion;

/* What a move is about: the section's elements, between the host and a packed copy of `geometry`,
 * which contains the section. */
typedef struct move {
    const tilek_array_shape *shape;
    const tilek_array *array, *geometry;
    char *packed;
    motion what;
} move;

static void move_run(const move *job, char *host, size_t offset, size_t bytes)
{
    if (job->what == PACK) memcpy(job->packed + offset, host, bytes);
    if (job->what == UNPACK) memcpy(host, job->packed + offset, bytes);
}

/* Walks the pointers from `dimension` inwards; `index` counts the rows of the packed copy. Returns
 * 0 where a row is missing. */
static int walk_rows(const move *job, int dimension, void *level, size_t index)
{
    const size_t size = job->shape->element_size;
    const int64_t lower = job->array->lower[dimension];
    if (level == NULL) return 0;
    index = index * (size_t)job->geometry->length[dimension] + (size_t)(lower - job->geometry->lower[dimension]);
    if (dimension == job->shape->rank - 1) {
        move_run(job, (char *)level + (size_t)lower * size, index * size, (size_t)job->array->length[dimension] * size);
        return 1;
    }
    for (int64_t place = 0; place < job->array->length[dimension]; ++place)
        if (!walk_rows(job, dimension + 1, ((void **)level)[lower + place], index + (size_t)place)) return 0;
    return 1;
}

static tilek_status move_rows(move job, tilek_message *why)
{
    const motion what = job.what;
    job.what = CHECK;
    if (!walk_rows(&job, 0, job.array->base, 0)) return refuse(job.shape, "contains a row that is a null pointer", why);
    job.what = what;
    (void)walk_rows(&job, 0, job.array->base, 0);
    return TILEK_OK;
}

tilek_status tilek_pack(const tilek_array_shape *shape, const tilek_array *array, const tilek_array *geometry,
                        void *packed, tilek_message *why)
{
    const move job = {shape, array, geometry, packed, PACK};
    return move_rows(job, why);
}

tilek_status tilek_unpack(const tilek_array_shape *shape, const tilek_array *array, const tilek_array *geometry,
                          void *packed, tilek_message *why)
{
    const move job = {shape, array, geometry, packed, UNPACK};
    return move_rows(job, why);
}

/* `offset`: bytes from the section's first element. */
static void walk_section(const move *job, int dimension, size_t offset)
{
    size_t stride = job->shape->element_size;
    for (int inner = dimension + 1; inner < job->shape->rank; ++inner) stride *= (size_t)job->array->extent[inner];
    if (dimension >= job->shape->rank - 1) {
        move_run(job, (char *)job->array->base + offset, offset,
                 job->shape->rank > 0 ? (size_t)job->array->length[dimension] * stride : stride);
        return;
    }
    for (int64_t place = 0; place < job->array->length[dimension]; ++place)
        walk_section(job, dimension + 1, offset + (size_t)place * stride);
}

static void move_section(const tilek_array_shape *shape, const tilek_array *array, const tilek_section *section,
                         void *copy, motion what)
{
    tilek_array moved = *array; /* its base moved to the section's first element */
    const move job = {shape, &moved, &moved, copy, what};
    moved.base = section->start;
    if (section->is_dense) move_run(&job, section->start, 0, section->bytes);
    else walk_section(&job, 0, 0);
}

void tilek_gather(const tilek_array_shape *shape, const tilek_array *array, const tilek_section *section, void *copy)
{
    move_section(shape, array, section, copy, PACK);
}

void tilek_scatter(const tilek_array_shape *shape, const tilek_array *array, const tilek_section *section, void *copy)
{
    move_section(shape, array, section, copy, UNPACK);
}

size_t tilek_touched(const tilek_kernel *kernel, const tilek_call *call)
{
    size_t bytes = 0;
    for (int index = 0; index < kernel->array_count; ++index) {
        tilek_section section;
        tilek_message unused;
        /* the rest of them would pass for all */
        if ((kernel->arrays[index].flags & TILEK_UNKNOWN_EXTENT) != 0) return 0;
        if (tilek_section_of(&kernel->arrays[index], &call->arrays[index], &section, &unused) != TILEK_OK) continue;
        if ((kernel->arrays[index].flags & TILEK_READS) != 0) bytes += section.device_bytes;
        if ((kernel->arrays[index].flags & TILEK_WRITES) != 0) bytes += section.device_bytes;
    }
    return bytes;
}
