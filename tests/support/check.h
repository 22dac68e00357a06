/* check.h: what the programs of tests/run share. Original and translated program record the same arrays; Python compares them.
 *
 * A case is a function made by CASE(name), called by the generated main. check_record writes one record to the file that
 * main opened: a line "CASE LABEL BYTES\n", then the bytes. */
#ifndef CHECK_H
#define CHECK_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE(name) void case_##name(void)

extern const char *check_current; /* the case that is running */
extern FILE *check_file;
extern int check_sizes[4]; /* from the command line, for cases that take sizes */

static inline void check_record(const char *label, const void *values, size_t bytes)
{
    fprintf(check_file, "%s %s %zu\n", check_current, label, bytes);
    fwrite(values, 1, bytes, check_file);
}

static inline void check_record_rows(const char *label, void *const *rows, size_t count, size_t row_bytes)
{
    fprintf(check_file, "%s %s %zu\n", check_current, label, count * row_bytes);
    for (size_t i = 0; i < count; ++i)
        fwrite(rows[i], 1, row_bytes, check_file);
}

/* Memory of `count` objects that nothing has been stored in (zeros). */
static inline void *check_allocate(size_t count, size_t size)
{
    void *const memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL)
        exit(3);
    return memory;
}

static inline uint64_t check_random(uint64_t position)
{
    uint64_t z = (position + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Values in [-1, 1) with all bits in use. */
static inline void check_fill_float(float *values, size_t count)
{
    for (size_t k = 0; k < count; ++k)
        values[k] = (float)(int32_t)(check_random(k) >> 32) * 0x1p-31f;
}

static inline void check_fill_double(double *values, size_t count)
{
    for (size_t k = 0; k < count; ++k)
        values[k] = (double)(int64_t)check_random(k + 77) * 0x1p-63;
}

/* Values in [-1000, 1000]. */
static inline void check_fill_int(int *values, size_t count)
{
    for (size_t k = 0; k < count; ++k)
        values[k] = (int)(check_random(k + 155) % 2001) - 1000;
}

static inline float *check_floats(size_t count)
{
    float *const values = check_allocate(count, sizeof *values);
    check_fill_float(values, count);
    return values;
}

static inline double *check_doubles(size_t count)
{
    double *const values = check_allocate(count, sizeof *values);
    check_fill_double(values, count);
    return values;
}

static inline int *check_ints(size_t count)
{
    int *const values = check_allocate(count, sizeof *values);
    check_fill_int(values, count);
    return values;
}

/* Rows of different allocations, in an order that is not that of their addresses. */
static inline float **check_matrix(size_t rows, size_t columns)
{
    float **const matrix = check_allocate(rows, sizeof *matrix);
    for (size_t i = rows; i-- > 0;) {
        matrix[i] = check_allocate(columns + 3, sizeof **matrix);
        for (size_t j = 0; j < columns; ++j)
            matrix[i][j] = (float)(int32_t)(check_random(i * 1009 + j) >> 32) * 0x1p-31f;
    }
    return matrix;
}

static inline void check_free_matrix(float **matrix, size_t rows)
{
    for (size_t i = 0; i < rows; ++i)
        free(matrix[i]);
    free(matrix);
}

#endif
