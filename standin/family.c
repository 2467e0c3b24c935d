/*
 * standin/family.c - see family.h.
 */
#include "standin/family.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

static const struct sti_family_info FAMILIES[STI_FAMILY_COUNT] = {
#define STI_FAMILY_ROW(name, prefix, library, refusal) {prefix, library, refusal},
    STI_FAMILIES(STI_FAMILY_ROW)
#undef STI_FAMILY_ROW
};

const struct sti_family_info *sti_family_info(enum sti_family family)
{
    VS_ASSERT((unsigned)family < STI_FAMILY_COUNT);
    return &FAMILIES[family];
}

enum sti_family sti_family_of(const char *function)
{
    enum sti_family best = STI_FAMILY_COUNT;
    size_t best_len = 0;

    for (int i = 0; i < STI_FAMILY_COUNT; i++) {
        const size_t len = strlen(FAMILIES[i].prefix);

        if (len > best_len && strncmp(function, FAMILIES[i].prefix, len) == 0 &&
            (i != STI_DRIVER || isupper((unsigned char)function[len]))) {
            best = (enum sti_family)i;
            best_len = len;
        }
    }
    return best;
}

enum sti_family sti_family_of_library(const char *soname)
{
    for (int i = 0; i < STI_FAMILY_COUNT; i++) {
        const size_t len = strlen(FAMILIES[i].library);

        if (strncmp(soname, FAMILIES[i].library, len) == 0 && (!soname[len] || soname[len] == '.'))
            return (enum sti_family)i;
    }
    return STI_FAMILY_COUNT;
}

bool sti_library_is_cuda(const char *soname)
{
    static const char *const BEGINNINGS[] = {"libcublas", "libcuda",   "libcudart",   "libcudnn",
                                             "libcufft",  "libcufile", "libcuinj",    "libcupti",
                                             "libcurand", "libcusol",  "libcusparse", "libcutensor",
                                             "libnccl",   "libnpp",    "libnv"};

    for (size_t i = 0; i < sizeof(BEGINNINGS) / sizeof(BEGINNINGS[0]); i++)
        if (strncmp(soname, BEGINNINGS[i], strlen(BEGINNINGS[i])) == 0)
            return strstr(soname, ".so") != NULL;
    return false;
}
