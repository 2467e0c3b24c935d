/*
 * base/target.c - see target.h.
 *
 * Must not know:  what an op needs.
 * Invariant:      the table contains the rows of base/target.def and no others.
 */
#include "base/target.h"

#include <string.h>

#define KIB UINT64_C(1024)
#define MIB UINT64_C(1048576)

/* clang-format off */
#define ROW(name, title, mib, capability, processors, threads) \
    {name, title, (mib) * MIB, capability, processors, threads},
static const struct vs_target TARGETS[] = {VS_TARGETS(ROW)};
#undef ROW
/* clang-format on */

#define TARGET_COUNT (sizeof(TARGETS) / sizeof(TARGETS[0]))

uint64_t vs_cublas_workspace(int capability, bool is_late)
{
    return capability == 90 || (is_late && capability >= 100) ? 8 * 4096 * KIB
                                                              : 2 * 4096 * KIB + 8 * 16 * KIB;
}

const struct vs_target *vs_target_at(size_t i)
{
    return i < TARGET_COUNT ? &TARGETS[i] : NULL;
}

const struct vs_target *vs_target_find(const char *name)
{
    for (size_t i = 0; i < TARGET_COUNT; i++) {
        if (!strcmp(TARGETS[i].name, name))
            return &TARGETS[i];
    }
    return NULL;
}
