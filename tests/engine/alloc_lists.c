/*
 * tests/engine/alloc_lists.c - reads the allocator lists of tests/golden/alloc.
 *
 * For:            tests/engine/alloc_lists.h.
 * Must not know:  the allocator, the format; recording/memlist.h reads it.
 */
#include "tests/engine/alloc_lists.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "recording/memlist.h"

enum vs_status alloc_list_read(const char *path, struct eng_record *out, struct vs_error *err)
{
    struct vs_memlist list = {.events = NULL};
    enum vs_status st = rec_memlist_read(path, -1, &list, err);

    memset(out, 0, sizeof(*out));
    if (st)
        vs_error_prefix(err, "run from the project's root");
    else
        st = eng_record_of_list(&list, out, err);
    vs_memlist_release(&list);
    return st;
}

static uint64_t fact(const char *text)
{
    uint64_t n;

    return sscanf(text, "%" SCNu64, &n) == 1 ? n : ALLOC_FACT_NONE;
}

static bool parse_facts(char *line, struct alloc_facts *out)
{
    char *cells[12];
    size_t count = 0;

    for (char *cell = strtok(line, "\t\n"); cell && count < 12; cell = strtok(NULL, "\t\n"))
        cells[count++] = cell;
    if (count != 12 || strlen(cells[0]) >= sizeof(out->file))
        return false;
    memcpy(out->file, cells[0], strlen(cells[0]) + 1);
    out->device = fact(cells[1]);
    out->events = fact(cells[2]);
    out->allocs = fact(cells[3]);
    out->segments = fact(cells[4]);
    out->blocks = fact(cells[5]);
    out->reserved = fact(cells[6]);
    out->allocated = fact(cells[7]);
    out->peak_allocated = fact(cells[8]);
    out->peak_requested = fact(cells[9]);
    out->peak_reserved = fact(cells[10]);
    out->is_start_empty = fact(cells[11]) == 1;
    return true;
}

enum vs_status alloc_facts_read(size_t idx, struct alloc_facts *out, struct vs_error *err)
{
    const char *path = ALLOC_LISTS_DIR "/facts.tsv";
    enum vs_status st = VS_E_NOT_FOUND;
    char line[512];
    FILE *file = fopen(path, "r");

    if (!file)
        return vs_fail(err, VS_E_IO, "%s: cannot be opened; run from the project's root", path);
    for (size_t number = 0; number <= idx + 1 && fgets(line, sizeof(line), file); number++) {
        if (number == idx + 1)
            st = parse_facts(line, out)
                     ? VS_OK
                     : vs_fail(err, VS_E_FORMAT, "%s:%zu: not understood", path, number + 1);
    }
    fclose(file);
    if (st == VS_E_NOT_FOUND)
        return vs_fail(err, st, "%s has no row %zu", path, idx);
    return st;
}
