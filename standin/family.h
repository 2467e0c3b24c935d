/*
 * standin/family.h - which library of CUDA a function belongs to, and which libraries are CUDA's.
 *
 * For:            attributing imported symbols that name no library, and failing calls with an error code of their
 *                 library.
 * Must not know:  what the functions do.
 * Invariant:      each row comes from standin/family.def.
 */
#ifndef STANDIN_FAMILY_H
#define STANDIN_FAMILY_H

#include <stdbool.h>

#include "standin/family.def"

enum sti_family {
#define STI_FAMILY_ENUM(name, prefix, library, refusal) STI_##name,
    STI_FAMILIES(STI_FAMILY_ENUM)
#undef STI_FAMILY_ENUM
        STI_FAMILY_COUNT
};

/*
 * prefix   of the names of its functions
 * library  what its library's name begins with: "libcudart.so", followed by ".13" or nothing
 * refusal  the status that says "not supported"
 */
struct sti_family_info {
    const char *prefix;
    const char *library;
    int refusal;
};

const struct sti_family_info *sti_family_info(enum sti_family family);
/* The family of a function; STI_FAMILY_COUNT: none of them. */
enum sti_family sti_family_of(const char *function);
/*
 * Is this the name of the family's library, with or without a version? "libcusparseLt-f80c68d1.so.0" is one, too: a
 * library that was copied into a wheel.
 */
bool sti_family_has_library(enum sti_family family, const char *soname);
/* The family whose library has this name; STI_FAMILY_COUNT: none. */
enum sti_family sti_family_of_library(const char *soname);
/*
 * Is it a library of NVIDIA's that comes with CUDA, whether its family is known or not? By its name: libcu…, libnv…,
 * libnccl…, libnpp… .
 */
bool sti_library_is_cuda(const char *soname);

#endif
