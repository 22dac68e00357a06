/* reduction.c: combining the partial values of reductions, in a tree over their indices. */
#include "launch/reduction.h"

#include <string.h>

size_t tilek_type_size(tilek_type type)
{
    static const size_t sizes[] = {
        1, 1, 2, 2, 4, 4, 8, 8, sizeof(float), sizeof(double), sizeof(long double), sizeof(_Bool)};
    return sizes[type];
}

/* One type's combination. ARITHMETIC is the type sums and products are made in: unsigned for
 * integers, whose overflow then wraps as on every target. Values are copied, since partials may lie
 * at any address. NaN: MIN and MAX keep the first operand as the conditional expression of the
 * source would. */
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

/* fmin and fmax. Which of two zeros they give C leaves open, and compilers exchange their
 * arguments. */
#define COMBINE_NUMBERS                                                                            \
    case TILEK_MINIMUM_NUMBER: left = right < left || left != left ? right : left; break;          \
    case TILEK_MAXIMUM_NUMBER: left = right > left || left != left ? right : left; break;

#define NO_BITS

/* The tree is gone through from left to right: after `index` values there is one of `parts` for
 * each bit of `index` that is set, that of the largest part first. A new value joins the part of
 * one value, if there is one, their sum the part of two, and so on. BLOCK neighbours from a
 * multiple of BLOCK on are a subtree. Most reductions are sums: they have a copy of this code in
 * which the operation is a constant. */
enum { BLOCK = 8 };

#define DEFINE_COMBINE(NAME, TYPE, STEPS, BITS)                                                               \
    static inline TYPE NAME##_step(tilek_operator operation, TYPE left, TYPE right)                           \
    {                                                                                                         \
        switch (operation) { STEPS BITS default: break; }                                                     \
        return left;                                                                                          \
    }                                                                                                         \
    static inline TYPE NAME##_tree(tilek_operator operation, const char *partials, int64_t count)             \
    {                                                                                                         \
        TYPE parts[64], block[BLOCK];                                                                         \
        int depth = 0;                                                                                        \
        int64_t index = 0;                                                                                    \
        for (; count - index >= BLOCK; index += BLOCK) {                                                      \
            memcpy(block, partials + (size_t)index * sizeof *block, sizeof block);                            \
            for (int width = 1; width < BLOCK; width *= 2)                                                    \
                for (int place = 0; place < BLOCK; place += 2 * width)                                        \
                    block[place] = NAME##_step(operation, block[place], block[place + width]);                \
            parts[depth++] = block[0];                                                                        \
            for (int64_t rest = index / BLOCK; (rest & 1) != 0; rest >>= 1, --depth)                          \
                parts[depth - 2] = NAME##_step(operation, parts[depth - 2], parts[depth - 1]);                \
        }                                                                                                     \
        for (; index < count; ++index) {                                                                      \
            memcpy(&parts[depth++], partials + (size_t)index * sizeof *parts, sizeof *parts);                 \
            for (int64_t rest = index; (rest & 1) != 0; rest >>= 1, --depth)                                  \
                parts[depth - 2] = NAME##_step(operation, parts[depth - 2], parts[depth - 1]);                \
        }                                                                                                     \
        for (; depth > 1; --depth) parts[depth - 2] = NAME##_step(operation, parts[depth - 2], parts[depth - 1]); \
        return parts[0];                                                                                      \
    }                                                                                                         \
    static void NAME(tilek_operator operation, void *value, const char *partials, int64_t count)              \
    {                                                                                                         \
        TYPE old;                                                                                             \
        memcpy(&old, value, sizeof old);                                                                      \
        old = NAME##_step(operation, old, operation == TILEK_ADD ? NAME##_tree(TILEK_ADD, partials, count)    \
                                                                 : NAME##_tree(operation, partials, count));  \
        memcpy(value, &old, sizeof old);                                                                      \
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
    static void (*const combine[])(tilek_operator, void *, const char *, int64_t) = {
        combine_int8, combine_uint8, combine_int16, combine_uint16, combine_int32, combine_uint32,
        combine_int64, combine_uint64, combine_float, combine_double, combine_long_double, combine_bool};
    const int is_floating = type == TILEK_FLOAT || type == TILEK_DOUBLE || type == TILEK_LONG_DOUBLE;
    const int is_number = operation == TILEK_MINIMUM_NUMBER || operation == TILEK_MAXIMUM_NUMBER;
    if (!is_floating && is_number) return TILEK_INVALID;
    if (is_floating && (operation == TILEK_BIT_AND || operation == TILEK_BIT_OR || operation == TILEK_BIT_XOR))
        return TILEK_INVALID;
    if (count > 0) combine[type](operation, value, partials, count);
    return TILEK_OK;
}
