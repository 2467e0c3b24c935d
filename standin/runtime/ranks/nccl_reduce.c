/*
 * standin/runtime/ranks/nccl_reduce.c - sti_reduce of nccl_internal.h: NCCL's operations on the host.
 */
#include <string.h>

#include "standin/runtime/ranks/nccl_internal.h"

enum operation { SUM, PRODUCT, MAXIMUM, MINIMUM, AVERAGE, OPERATION_COUNT };

/* parts: over how many ranks this step completes an average; 0: it does not */
#define REDUCE(name, type)                                                                         \
    static void name(char *out, const char *more, size_t count, int operation, int parts)          \
    {                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                       \
            type a;                                                                                \
            type b;                                                                                \
                                                                                                   \
            memcpy(&a, out + i * sizeof(a), sizeof(a));                                            \
            memcpy(&b, more + i * sizeof(b), sizeof(b));                                           \
            if (operation == PRODUCT)                                                              \
                a = (type)(a * b);                                                                 \
            else if (operation == MAXIMUM)                                                         \
                a = a > b ? a : b;                                                                 \
            else if (operation == MINIMUM)                                                         \
                a = a < b ? a : b;                                                                 \
            else                                                                                   \
                a = (type)(a + b);                                                                 \
            if (operation == AVERAGE && parts)                                                     \
                a = (type)(a / (type)parts);                                                       \
            memcpy(out + i * sizeof(a), &a, sizeof(a));                                            \
        }                                                                                          \
    }

REDUCE(reduce_int8, int8_t)
REDUCE(reduce_uint8, uint8_t)
REDUCE(reduce_int32, int32_t)
REDUCE(reduce_uint32, uint32_t)
REDUCE(reduce_int64, int64_t)
REDUCE(reduce_uint64, uint64_t)
REDUCE(reduce_float, float)
REDUCE(reduce_double, double)

bool sti_reduce(void *out, const void *more, size_t count, int type, int operation, int ranks)
{
    /* ncclDataType_t; 6: of 16 bits */
    static void (*const BY_TYPE[])(char *, const char *, size_t, int, int) = {
        reduce_int8,   reduce_uint8, reduce_int32, reduce_uint32, reduce_int64,
        reduce_uint64, NULL,         reduce_float, reduce_double};

    if (type < 0 || type >= (int)(sizeof(BY_TYPE) / sizeof(BY_TYPE[0])) || !BY_TYPE[type] ||
        operation < 0 || operation >= OPERATION_COUNT)
        return false;
    BY_TYPE[type](out, more, count, operation, ranks);
    return true;
}
