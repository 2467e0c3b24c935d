/*
 * standin/stub_internal.h - a stub library under construction.
 *
 * For:            standin/stub.c, which fills the sections, and standin/stub_file.c, which writes them.
 * Must not know:  anything but ELF.
 * Invariant:      addresses of the library are offsets in its file.
 */
#ifndef STANDIN_STUB_INTERNAL_H
#define STANDIN_STUB_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "standin/stub.h"

#define STI_PAGE 4096u
#define STI_SEGMENT_COUNT 5u

/* In the order of the file. */
enum sti_section {
    NONE,
    SYMBOLS,
    STRINGS,
    HASHES,
    VERSIONS,
    DEFINITIONS,
    CODE,
    DYNAMIC,
    TABLE,
    SECTION_COUNT
};

/* A symbol of the table: its function, or STI_TABLE_SYMBOL, which is the last one of the stub. */
struct sti_symbol {
    uint32_t name;
    uint32_t hash;
    uint32_t bucket;
    uint32_t function;
    uint16_t version;
};

/*
 * A library under construction.
 *
 * versions  each version once, in the order of its number from 2 on; 1 is the library itself
 * symbols   sorted by bucket, as the hash table requires
 */
struct sti_builder {
    const struct sti_stub *stub;
    struct vs_text parts[SECTION_COUNT];
    uint64_t at[SECTION_COUNT];
    const char **versions;
    uint32_t *version_names;
    size_t version_count, version_cap;
    struct sti_symbol *symbols;
    uint32_t symbol_count;
    uint32_t bucket_count;
    uint32_t soname;
};

static inline uint64_t sti_round_up(uint64_t at, uint64_t to)
{
    return (at + to - 1) / to * to;
}

/* Where a section ends. */
static inline uint64_t sti_end_of(const struct sti_builder *m, enum sti_section section)
{
    return m->at[section] + m->parts[section].len;
}

/* The file, appended to `out`, which is empty: all sections have their content, and at[] has their offsets. */
void sti_stub_file_write(const struct sti_builder *m, struct vs_text *out);

#endif
