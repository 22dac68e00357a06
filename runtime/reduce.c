/* reduce.c: combining the partial values of reductions, in a tree over their indices. */
#include "reduce.h"

#include <string.h>

size_t tilek_type_size(tilek_type type)
{
    static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, sizeof(float), sizeof(double), sizeof(long double), sizeof(_Bool)};
    return sizes[type];
}

/* One type's combination. ARITHMETIC is the type sums and products are made in: unsigned for integers, whose overflow then wraps as on
 * every target. Values are copied, since partials may lie at any address. NaN: MIN and MAX keep the first operand as the
 * conditional expression of the source would. */
#define COMBINE_ARITHMETIC(TYPE, ARITHMETIC)                                                                \
    case TILEK_ADD: left = (TYPE)((ARITHMETIC)left + (ARITHMETIC)right); break;                             \
    case TILEK_MULTIPLY: left = (TYPE)((ARITHMETIC)left * (ARITHMETIC)right); break;                        \
    case TILEK_MINIMUM: left = right < left ? right : left; break;                                          \
    case TILEK_MAXIMUM: left = right > left ? right : left; break;                                          \
    case TILEK_LOGICAL_AND: left = (TYPE)(left && right); break;                                            \
    case TILEK_LOGICAL_OR: left = (TYPE)(left || right); break;

#define COMBINE_BITS(TYPE)                                            \
    case TILEK_BIT_AND: left = (TYPE)(left & right); break;           \
    case TILEK_BIT_OR: left = (TYPE)(left | right); break;            \
    case TILEK_BIT_XOR: left = (TYPE)(left ^ right); break;

/* Truth values: a sum is true where one is, a product where all are. */
#define COMBINE_TRUTH                                                                                          \
    case TILEK_ADD: case TILEK_MAXIMUM: case TILEK_LOGICAL_OR: left = left || right; break;                    \
    case TILEK_MULTIPLY: case TILEK_MINIMUM: case TILEK_LOGICAL_AND: left = left && right; break;

/* fmin and fmax. Which of two zeros they give C leaves open, and compilers exchange their arguments. */
#define COMBINE_NUMBERS                                                                            \
    case TILEK_MINIMUM_NUMBER: left = right < left || left != left ? right : left; break;          \
    case TILEK_MAXIMUM_NUMBER: left = right > left || left != left ? right : left; break;

#define NO_BITS                                                                      \
    case TILEK_BIT_AND: case TILEK_BIT_OR: case TILEK_BIT_XOR: return TILEK_INVALID;

/* The tree is gone through from left to right: after `index` values there is one of `sums` for each bit of `index` that is set, that of the largest part first.
 * A part of one value more joins those that are as long, shortest first. */
#define DEFINE_COMBINE(NAME, TYPE, STEPS, BITS)                                                               \
    static tilek_status NAME##_step(tilek_operator operation, TYPE *accumulator, TYPE right)                  \
    {                                                                                                         \
        TYPE left = *accumulator;                                                                             \
        switch (operation) { STEPS BITS default: return TILEK_INVALID; }                                      \
        *accumulator = left;                                                                                  \
        return TILEK_OK;                                                                                      \
    }                                                                                                         \
    static tilek_status NAME(tilek_operator operation, void *value, const char *partials, int64_t count)      \
    {                                                                                                         \
        TYPE parts[64], old, next;                                                                            \
        int depth = 0;                                                                                        \
        tilek_status status = TILEK_OK;                                                                       \
        memcpy(&old, value, sizeof old);                                                                      \
        for (int64_t index = 0; index < count && status == TILEK_OK; ++index) {                               \
            memcpy(&next, partials + (size_t)index * sizeof next, sizeof next);                               \
            parts[depth++] = next;                                                                            \
            for (int64_t rest = index; (rest & 1) != 0 && status == TILEK_OK; rest >>= 1, --depth)            \
                status = NAME##_step(operation, &parts[depth - 2], parts[depth - 1]);                         \
        }                                                                                                     \
        for (; depth > 1 && status == TILEK_OK; --depth)                                                      \
            status = NAME##_step(operation, &parts[depth - 2], parts[depth - 1]);                             \
        if (status == TILEK_OK) status = NAME##_step(operation, &old, parts[0]);                              \
        if (status == TILEK_OK) memcpy(value, &old, sizeof old);                                              \
        return status;                                                                                        \
    }

DEFINE_COMBINE(combine_int8, int8_t, COMBINE_ARITHMETIC(int8_t, uint32_t), COMBINE_BITS(int8_t))
DEFINE_COMBINE(combine_uint8, uint8_t, COMBINE_ARITHMETIC(uint8_t, uint32_t), COMBINE_BITS(uint8_t))
DEFINE_COMBINE(combine_int16, int16_t, COMBINE_ARITHMETIC(int16_t, uint32_t), COMBINE_BITS(int16_t))
DEFINE_COMBINE(combine_uint16, uint16_t, COMBINE_ARITHMETIC(uint16_t, uint32_t), COMBINE_BITS(uint16_t))
DEFINE_COMBINE(combine_int32, int32_t, COMBINE_ARITHMETIC(int32_t, uint32_t), COMBINE_BITS(int32_t))
DEFINE_COMBINE(combine_uint32, uint32_t, COMBINE_ARITHMETIC(uint32_t, uint32_t), COMBINE_BITS(uint32_t))
DEFINE_COMBINE(combine_int64, int64_t, COMBINE_ARITHMETIC(int64_t, uint64_t), COMBINE_BITS(int64_t))
DEFINE_COMBINE(combine_uint64, uint64_t, COMBINE_ARITHMETIC(uint64_t, uint64_t), COMBINE_BITS(uint64_t))
DEFINE_COMBINE(combine_float, float, COMBINE_ARITHMETIC(float, float) COMBINE_NUMBERS, NO_BITS)
DEFINE_COMBINE(combine_double, double, COMBINE_ARITHMETIC(double, double) COMBINE_NUMBERS, NO_BITS)
DEFINE_COMBINE(combine_long_double, long double, COMBINE_ARITHMETIC(long double, long double) COMBINE_NUMBERS, NO_BITS)
DEFINE_COMBINE(combine_bool, _Bool, COMBINE_TRUTH, COMBINE_BITS(_Bool))

tilek_status tilek_combine(tilek_operator operation, tilek_type type, void *value, const void *partials, int64_t count)
{
    static tilek_status (*const combine[])(tilek_operator, void *, const char *, int64_t) = {
        combine_int8, combine_uint8, combine_int16, combine_uint16, combine_int32, combine_uint32,
        combine_int64, combine_uint64, combine_float, combine_double, combine_long_double, combine_bool};
    return count > 0 ? combine[type](operation, value, partials, count) : TILEK_OK;
}
