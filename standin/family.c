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

/* Eight digits of a hash, which auditwheel puts between a library's name and ".so" when it copies it into a wheel. */
static size_t hash_len(const char *text)
{
    return *text == '-' && strspn(text + 1, "0123456789abcdef") == 8 ? 9 : 0;
}

bool sti_family_has_library(enum sti_family family, const char *soname)
{
    const char *name = sti_family_info(family)->library;
    const size_t stem = strlen(name) - strlen(".so");
    const char *end = soname + stem;

    if (strncmp(soname, name, stem) != 0)
        return false;
    end += hash_len(end);
    return strncmp(end, ".so", 3) == 0 && (!end[3] || end[3] == '.');
}

enum sti_family sti_family_of_library(const char *soname)
{
    for (int i = 0; i < STI_FAMILY_COUNT; i++)
        if (sti_family_has_library((enum sti_family)i, soname))
            return (enum sti_family)i;
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
