/*
 * standin/runtime/sizes.c - see calls.h: functions that say how large a workspace must be. None is known: 0 is
 * returned, and noted once.
 */
#include <string.h>

#include "standin/runtime/calls.h"
#include "standin/runtime/sizes.def"
#include "standin/runtime/unknown.h"

static void note(void)
{
    sti_unknown_note("cuSOLVER, cuSPARSE, cuFFT", "(sizes of workspaces)");
}

/*
 * By the calling convention of x86-64 each parameter of these functions is a word, the first six in registers and the
 * others on the stack; a function that looks at one of them only may have fewer.
 */
#define WORDS                                                                                      \
    uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3, uintptr_t a4, uintptr_t a5,            \
        uintptr_t a6, uintptr_t a7, uintptr_t a8, uintptr_t a9, uintptr_t a10, uintptr_t a11,      \
        uintptr_t a12, uintptr_t a13, uintptr_t a14, uintptr_t a15, uintptr_t a16, uintptr_t a17,  \
        uintptr_t a18, uintptr_t a19
#define INT_AT(n)                                                                                  \
    static int int_at_##n(WORDS)                                                                   \
    {                                                                                              \
        note();                                                                                    \
        *(int *)a##n = 0;                                                                          \
        return STI_SUCCESS;                                                                        \
    }
#define SIZE_AT(n)                                                                                 \
    static int size_at_##n(WORDS)                                                                  \
    {                                                                                              \
        note();                                                                                    \
        *(size_t *)a##n = 0;                                                                       \
        return STI_SUCCESS;                                                                        \
    }
/* Of the device, and after it of the host. */
#define SIZES_AT(n, next)                                                                          \
    static int sizes_at_##n(WORDS)                                                                 \
    {                                                                                              \
        note();                                                                                    \
        *(size_t *)a##n = 0;                                                                       \
        *(size_t *)a##next = 0;                                                                    \
        return STI_SUCCESS;                                                                        \
    }
/* clang-format off */
INT_AT(3) INT_AT(4) INT_AT(5) INT_AT(7) INT_AT(11) INT_AT(12) INT_AT(13) INT_AT(16)
SIZE_AT(6) SIZE_AT(9) SIZE_AT(10) SIZE_AT(12) SIZE_AT(19)
SIZES_AT(8, 9) SIZES_AT(10, 11) SIZES_AT(11, 12) SIZES_AT(17, 18)
    /* clang-format on */

    static const struct {
    const char *pattern;
    sti_function *function;
} SIZES[] = {
#define SIZE_ROW(pattern, function) {pattern, (sti_function *)(function)},
    STI_SIZES(SIZE_ROW)
#undef SIZE_ROW
};

static bool matches(const char *pattern, const char *name)
{
    for (; *pattern && *name; pattern++, name++)
        if (*pattern != *name && !(*pattern == '?' && strchr("SDCZ", *name)))
            return false;
    return *pattern == *name;
}

sti_function *sti_size_find(const char *name)
{
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++)
        if (matches(SIZES[i].pattern, name))
            return SIZES[i].function;
    return NULL;
}
