/*
 * standin/stub.c - see stub.h: what is in the sections.
 *
 * Must not know:  how sections become a file (standin/stub_file.c).
 * Invariant:      lengths of sections do not depend on their addresses, so the layout is computed once.
 */
#include "standin/stub.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "standin/stub_internal.h"

#define CODE_BYTES 16u
#define SYMBOLS_MAX 65535u
#define STRINGS_MAX (16u << 20)
#define BLOOM_SHIFT 6u

static void add(struct sti_builder *m, enum sti_section section, const void *bytes, size_t len)
{
    vs_text_add_n(&m->parts[section], bytes, len);
}

static uint32_t string_add(struct sti_builder *m, const char *text)
{
    const size_t at = m->parts[STRINGS].len;

    add(m, STRINGS, text, strlen(text) + 1);
    return (uint32_t)at;
}

/* The hash of GNU's table. */
static uint32_t gnu_hash(const char *name)
{
    uint32_t h = 5381;

    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        h = h * 33 + *c;
    return h;
}

/* The hash that versions are compared by. */
static uint32_t elf_hash(const char *name)
{
    uint32_t h = 0;

    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        const uint32_t high = ((h << 4) + *c) & 0xf0000000u;

        h = ((h << 4) + *c) ^ high >> 24;
        h &= ~high;
    }
    return h;
}

static uint16_t version_number(struct sti_builder *m, const char *version)
{
    if (!version)
        return VER_NDX_GLOBAL;
    for (size_t i = 0; i < m->version_count; i++)
        if (strcmp(m->versions[i], version) == 0)
            return (uint16_t)(i + 2);
    m->versions = vs_grow(m->versions, m->version_count, &m->version_cap, sizeof(*m->versions));
    m->versions[m->version_count++] = version;
    return (uint16_t)(m->version_count + 1);
}

static int by_bucket(const void *a, const void *b)
{
    const struct sti_symbol *x = a;
    const struct sti_symbol *y = b;

    if (x->bucket != y->bucket)
        return x->bucket < y->bucket ? -1 : 1;
    return x->function < y->function ? -1 : x->function > y->function;
}

static enum vs_status symbols_make(struct sti_builder *m, struct vs_error *err)
{
    const struct sti_stub *stub = m->stub;

    if (stub->count > SYMBOLS_MAX)
        return vs_fail(err, VS_E_OVERFLOW, "%s: %zu functions are too many for a stub library",
                       stub->soname, stub->count);
    m->symbol_count = (uint32_t)stub->count + 1;
    m->bucket_count = m->symbol_count / 2 + 1;
    m->symbols = vs_calloc(m->symbol_count, sizeof(*m->symbols));
    string_add(m, "");
    m->soname = string_add(m, stub->soname);
    for (uint32_t i = 0; i < m->symbol_count; i++) {
        const bool is_table = i == stub->count;
        const char *name = is_table ? STI_TABLE_SYMBOL : stub->symbols[i].name;
        const uint32_t hash = gnu_hash(name);

        m->symbols[i] = (struct sti_symbol){
            .name = string_add(m, name),
            .hash = hash,
            .bucket = hash % m->bucket_count,
            .function = i,
            .version = version_number(m, is_table ? NULL : stub->symbols[i].version),
        };
        if (m->parts[STRINGS].len > STRINGS_MAX)
            return vs_fail(err, VS_E_OVERFLOW, "%s: the names of its functions are too long",
                           stub->soname);
    }
    m->version_names = vs_calloc(m->version_count + 1, sizeof(*m->version_names));
    for (size_t i = 0; i < m->version_count; i++)
        m->version_names[i] = string_add(m, m->versions[i]);
    return VS_OK;
}

/* One bucket for two symbols, and a 64-bit Bloom filter for each eight: most lookups find nothing. */
static void hashes_make(struct sti_builder *m)
{
    uint32_t *buckets = vs_calloc(m->bucket_count, sizeof(*buckets));
    uint32_t filters = 1;
    uint64_t *bloom;

    while (filters * 8 < m->symbol_count)
        filters *= 2;
    bloom = vs_calloc(filters, sizeof(*bloom));
    for (uint32_t i = 0; i < m->symbol_count; i++) {
        const uint32_t h = m->symbols[i].hash;

        bloom[h / 64 % filters] |= UINT64_C(1) << h % 64 | UINT64_C(1) << (h >> BLOOM_SHIFT) % 64;
        if (!buckets[m->symbols[i].bucket])
            buckets[m->symbols[i].bucket] = i + 1; /* symbol 0 is none */
    }
    add(m, HASHES, (const uint32_t[]){m->bucket_count, 1, filters, BLOOM_SHIFT}, 16);
    add(m, HASHES, bloom, filters * sizeof(*bloom));
    add(m, HASHES, buckets, m->bucket_count * sizeof(*buckets));
    for (uint32_t i = 0; i < m->symbol_count; i++) {
        const bool is_last =
            i + 1 == m->symbol_count || m->symbols[i + 1].bucket != m->symbols[i].bucket;
        const uint32_t chain = (m->symbols[i].hash & ~UINT32_C(1)) | (is_last ? 1u : 0u);

        add(m, HASHES, &chain, sizeof(chain));
    }
    vs_free(buckets);
    vs_free(bloom);
}

static void definition_add(struct sti_builder *m, uint16_t number, const char *name,
                           uint32_t name_at, bool is_last)
{
    const Elf64_Verdef def = {
        .vd_version = VER_DEF_CURRENT,
        .vd_flags = number == 1 ? VER_FLG_BASE : 0,
        .vd_ndx = number,
        .vd_cnt = 1,
        .vd_hash = elf_hash(name),
        .vd_aux = sizeof(Elf64_Verdef),
        .vd_next = is_last ? 0 : sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux),
    };
    const Elf64_Verdaux aux = {.vda_name = name_at};

    add(m, DEFINITIONS, &def, sizeof(def));
    add(m, DEFINITIONS, &aux, sizeof(aux));
}

/* A library without versions has no version tables: only then do its functions match those of any version. */
static void versions_make(struct sti_builder *m)
{
    if (!m->version_count)
        return;
    definition_add(m, 1, m->stub->soname, m->soname, !m->version_count);
    for (size_t i = 0; i < m->version_count; i++)
        definition_add(m, (uint16_t)(i + 2), m->versions[i], m->version_names[i],
                       i + 1 == m->version_count);
    add(m, VERSIONS, &(uint16_t){0}, 2);
    for (uint32_t i = 0; i < m->symbol_count; i++)
        add(m, VERSIONS, &m->symbols[i].version, 2);
}

/* ---- where things lie ---- */

static uint64_t entry_at(const struct sti_builder *m, uint32_t function)
{
    return m->at[TABLE] + sizeof(struct sti_table) + (uint64_t)function * sizeof(struct sti_entry);
}

/* lea entry(%rip), %r11; jmp *(%r11) */
static void code_make(struct sti_builder *m)
{
    for (uint32_t i = 0; i < m->stub->count; i++) {
        unsigned char code[CODE_BYTES] = {0x4c, 0x8d, 0x1d, 0, 0, 0, 0, 0x41, 0xff, 0x23};
        const uint64_t next = m->at[CODE] + (uint64_t)i * CODE_BYTES + 7;
        const uint32_t distance = (uint32_t)(entry_at(m, i) - next);

        memcpy(code + 3, &distance, sizeof(distance));
        memset(code + 10, 0xcc, sizeof(code) - 10);
        add(m, CODE, code, sizeof(code));
    }
    if (!m->stub->count) { /* no segment is empty */
        const unsigned char trap[CODE_BYTES] = {0xcc};

        add(m, CODE, trap, sizeof(trap));
    }
}

static void symbol_table_make(struct sti_builder *m)
{
    add(m, SYMBOLS, &(Elf64_Sym){.st_name = 0}, sizeof(Elf64_Sym));
    for (uint32_t i = 0; i < m->symbol_count; i++) {
        const uint32_t function = m->symbols[i].function;
        const bool is_table = function == m->stub->count;
        const Elf64_Sym symbol = {
            .st_name = m->symbols[i].name,
            .st_info = ELF64_ST_INFO(STB_GLOBAL, is_table ? STT_OBJECT : STT_FUNC),
            .st_shndx = is_table ? TABLE : CODE,
            .st_value = is_table ? m->at[TABLE] : m->at[CODE] + (uint64_t)function * CODE_BYTES,
            .st_size = is_table ? sizeof(struct sti_table) : CODE_BYTES,
        };

        add(m, SYMBOLS, &symbol, sizeof(symbol));
    }
}

/* In the order of the stub's functions, whatever the order of the symbols. */
static void table_make(struct sti_builder *m)
{
    const struct sti_table table = {STI_TABLE_MAGIC, m->at[TABLE] - m->at[STRINGS],
                                    (uint32_t)m->stub->count, m->soname};
    struct sti_entry *entries = vs_calloc(m->stub->count + 1, sizeof(*entries));

    for (uint32_t i = 0; i < m->symbol_count; i++)
        entries[m->symbols[i].function] =
            (struct sti_entry){0, m->symbols[i].name, m->symbols[i].function};
    add(m, TABLE, &table, sizeof(table));
    add(m, TABLE, entries, m->stub->count * sizeof(*entries));
    vs_free(entries);
}

static void dynamic_add(struct sti_builder *m, int64_t tag, uint64_t value)
{
    add(m, DYNAMIC, &(Elf64_Dyn){tag, {value}}, sizeof(Elf64_Dyn));
}

static void dynamic_make(struct sti_builder *m)
{
    m->parts[DYNAMIC].len = 0;
    dynamic_add(m, DT_SONAME, m->soname);
    dynamic_add(m, DT_GNU_HASH, m->at[HASHES]);
    dynamic_add(m, DT_STRTAB, m->at[STRINGS]);
    dynamic_add(m, DT_SYMTAB, m->at[SYMBOLS]);
    dynamic_add(m, DT_STRSZ, m->parts[STRINGS].len);
    dynamic_add(m, DT_SYMENT, sizeof(Elf64_Sym));
    if (m->version_count) {
        dynamic_add(m, DT_VERSYM, m->at[VERSIONS]);
        dynamic_add(m, DT_VERDEF, m->at[DEFINITIONS]);
        dynamic_add(m, DT_VERDEFNUM, m->version_count + 1);
    }
    dynamic_add(m, DT_NULL, 0);
}

/* Addresses are offsets in the file. */
static void layout(struct sti_builder *m)
{
    const uint64_t sizes[SECTION_COUNT] = {
        [SYMBOLS] = (m->symbol_count + UINT64_C(1)) * sizeof(Elf64_Sym),
        [STRINGS] = m->parts[STRINGS].len,
        [HASHES] = m->parts[HASHES].len,
        [VERSIONS] = m->parts[VERSIONS].len,
        [DEFINITIONS] = m->parts[DEFINITIONS].len,
        [CODE] = (m->stub->count ? m->stub->count : 1) * CODE_BYTES,
        [DYNAMIC] = m->parts[DYNAMIC].len,
        [TABLE] = sizeof(struct sti_table) + m->stub->count * sizeof(struct sti_entry),
    };
    uint64_t at = sizeof(Elf64_Ehdr) + STI_SEGMENT_COUNT * sizeof(Elf64_Phdr);

    for (int i = SYMBOLS; i < SECTION_COUNT; i++) {
        m->at[i] = sti_round_up(at, i == CODE || i == DYNAMIC ? STI_PAGE : 16);
        at = m->at[i] + sizes[i];
    }
}

enum vs_status sti_stub_make(const struct sti_stub *stub, struct vs_text *out, struct vs_error *err)
{
    struct sti_builder m = {.stub = stub};
    enum vs_status st = symbols_make(&m, err);

    if (!st) {
        qsort(m.symbols, m.symbol_count, sizeof(*m.symbols), by_bucket);
        hashes_make(&m);
        versions_make(&m);
        dynamic_make(&m); /* for its length; its addresses are known after the layout */
        layout(&m);
        dynamic_make(&m);
        symbol_table_make(&m);
        code_make(&m);
        table_make(&m);
        sti_stub_file_write(&m, out);
    }
    for (int i = 0; i < SECTION_COUNT; i++)
        vs_text_release(&m.parts[i]);
    vs_free(m.versions);
    vs_free(m.version_names);
    vs_free(m.symbols);
    return st;
}
