/*
 * standin/needs.c - see needs.h.
 */
#include "standin/needs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin/elf.h"
#include "standin/family.h"

#define NAMES_BYTES_MAX ((size_t)16 << 20)

static const char *keep(struct sti_needs *needs, const char *text)
{
    if (!text)
        return NULL;
    if (!needs->strings)
        needs->strings = vs_arena_new();
    return vs_arena_strndup(needs->strings, text, strlen(text));
}

static struct sti_need *library_get(struct sti_needs *needs, const char *soname)
{
    for (size_t i = 0; i < needs->count; i++)
        if (strcmp(needs->libraries[i].soname, soname) == 0)
            return &needs->libraries[i];
    needs->libraries =
        vs_grow(needs->libraries, needs->count, &needs->cap, sizeof(*needs->libraries));
    needs->libraries[needs->count] = (struct sti_need){.soname = keep(needs, soname)};
    return &needs->libraries[needs->count++];
}

void sti_needs_library(struct sti_needs *needs, const char *soname)
{
    (void)library_get(needs, soname);
}

static void symbol_add(struct sti_needs *needs, struct sti_need *library, const char *name,
                       const char *version)
{
    library->symbols =
        vs_grow(library->symbols, library->count, &library->cap, sizeof(*library->symbols));
    library->symbols[library->count++] =
        (struct sti_stub_symbol){keep(needs, name), keep(needs, version)};
}

void sti_needs_symbol(struct sti_needs *needs, const char *soname, const char *name,
                      const char *version)
{
    symbol_add(needs, library_get(needs, soname), name, version);
}

void sti_needs_function(struct sti_needs *needs, const char *name)
{
    needs->loose =
        vs_grow(needs->loose, needs->loose_count, &needs->loose_cap, sizeof(*needs->loose));
    needs->loose[needs->loose_count++] = keep(needs, name);
}

static bool needs_cuda(const struct sti_elf *elf)
{
    for (size_t i = 0; i < elf->needed_count; i++)
        if (sti_library_is_cuda(elf->needed[i]))
            return true;
    return false;
}

enum vs_status sti_needs_file(struct sti_needs *needs, const char *path, struct vs_error *err)
{
    struct sti_elf elf;
    enum vs_status st = sti_elf_read(path, true, &elf, err);

    if (!st && needs_cuda(&elf)) {
        sti_elf_release(&elf);
        st = sti_elf_read(path, false, &elf, err);
    }
    if (st)
        return st;
    for (size_t i = 0; i < elf.needed_count; i++)
        if (sti_library_is_cuda(elf.needed[i]))
            sti_needs_library(needs, elf.needed[i]);
    for (size_t i = 0; i < elf.import_count; i++) {
        const struct sti_import *import = &elf.imports[i];

        if (import->library && sti_library_is_cuda(import->library))
            sti_needs_symbol(needs, import->library, import->name, import->version);
        else if (!import->library && sti_family_of(import->name) != STI_FAMILY_COUNT)
            sti_needs_function(needs, import->name);
    }
    sti_elf_release(&elf);
    return VS_OK;
}

/* ---- names ---- */

static bool is_name(const char *text, size_t len)
{
    if (len < 4 || len > 100)
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_')
            return false;
    return true;
}

/* Texts between NUL bytes. */
static void names_add(struct sti_needs *needs, const char *bytes, size_t len)
{
    const char *end = bytes + len;

    for (const char *text = bytes; text < end;) {
        const char *nul = memchr(text, '\0', (size_t)(end - text));
        enum sti_family family;

        if (!nul)
            return;
        family = is_name(text, (size_t)(nul - text)) ? sti_family_of(text) : STI_FAMILY_COUNT;
        if (family == STI_DRIVER || family == STI_NVML)
            sti_needs_function(needs, text);
        text = nul + 1;
    }
}

enum vs_status sti_needs_names(struct sti_needs *needs, const char *path, struct vs_error *err)
{
    FILE *file = fopen(path, "rb");
    char *bytes;
    size_t len;

    if (!file)
        return vs_fail(err, VS_E_IO, "%s: %s", path, strerror(errno));
    bytes = vs_alloc(NAMES_BYTES_MAX + 1);
    len = fread(bytes, 1, NAMES_BYTES_MAX + 1, file);
    fclose(file);
    if (len <= NAMES_BYTES_MAX)
        names_add(needs, bytes, len);
    vs_free(bytes);
    return VS_OK;
}

/* ---- settling ---- */

static struct sti_need *library_of(struct sti_needs *needs, enum sti_family family)
{
    for (size_t i = 0; family != STI_FAMILY_COUNT && i < needs->count; i++)
        if (sti_family_has_library(family, needs->libraries[i].soname))
            return &needs->libraries[i];
    return NULL;
}

static int text_compare(const char *a, const char *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

static int by_name(const void *a, const void *b)
{
    const struct sti_stub_symbol *x = a;
    const struct sti_stub_symbol *y = b;
    const int names = strcmp(x->name, y->name);

    return names ? names : -text_compare(x->version, y->version);
}

/* Sorts, and removes duplicates. A function without a version is removed if one with a version serves both. */
static void library_settle(struct sti_need *library)
{
    size_t kept = 0;

    if (library->count)
        qsort(library->symbols, library->count, sizeof(*library->symbols), by_name);
    for (size_t i = 0; i < library->count; i++) {
        const struct sti_stub_symbol *last = kept ? &library->symbols[kept - 1] : NULL;
        const struct sti_stub_symbol *this = &library->symbols[i];

        if (!last || strcmp(last->name, this->name) != 0 ||
            (this->version && text_compare(last->version, this->version) != 0))
            library->symbols[kept++] = *this;
    }
    library->count = kept;
}

static const char *version_of(const struct sti_need *library)
{
    for (size_t i = 0; i < library->count; i++)
        if (library->symbols[i].version)
            return library->symbols[i].version;
    return NULL;
}

void sti_needs_settle(struct sti_needs *needs)
{
    for (size_t i = 0; i < needs->loose_count; i++) {
        struct sti_need *library = library_of(needs, sti_family_of(needs->loose[i]));

        if (library)
            symbol_add(needs, library, needs->loose[i], version_of(library));
    }
    needs->loose_count = 0;
    for (size_t i = 0; i < needs->count; i++)
        library_settle(&needs->libraries[i]);
}

void sti_needs_release(struct sti_needs *needs)
{
    for (size_t i = 0; i < needs->count; i++)
        vs_free(needs->libraries[i].symbols);
    vs_free(needs->libraries);
    vs_free(needs->loose);
    vs_arena_free(needs->strings);
    memset(needs, 0, sizeof(*needs));
}
