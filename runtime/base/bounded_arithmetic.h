/* bounded_arithmetic.h: arithmetic on 64 bits whose results beyond them are the nearest number. */
#ifndef TILEK_BOUNDED_ARITHMETIC_H
#define TILEK_BOUNDED_ARITHMETIC_H

#include <stdint.h>

static inline int64_t tilek_bounded_sum(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static inline int64_t tilek_bounded_difference(int64_t a, int64_t b)
{
    int64_t difference;
    return __builtin_sub_overflow(a, b, &difference) ? (a < 0 ? INT64_MIN : INT64_MAX) : difference;
}

static inline int64_t tilek_bounded_product(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN) : product;
}

#endif
