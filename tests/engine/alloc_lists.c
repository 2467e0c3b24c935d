/*
 * tests/engine/alloc_lists.c - reading allocator lists.
 *
 * For:            tests/engine/alloc_lists.h.
 * Must not know:  the allocator.
 * Invariant:      every line is understood or the file is refused.
 */
#include "tests/engine/alloc_lists.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define UNIT 512

/* An alloc event still to be named by a free. */
struct named {
    uint64_t address;
    uint64_t bytes;
};

struct parser {
    struct alloc_list *list;
    struct named *allocs;
    size_t alloc_count;
    size_t alloc_cap;
    uint64_t stream;
    uint64_t last_address;
    uint64_t state_segments;
    uint64_t state_blocks;
    uint64_t announced_events;
    bool in_events;
};

static void add_event(struct parser *ps, unsigned kind, uint64_t address, uint64_t bytes)
{
    struct alloc_list *list = ps->list;

    list->events =
        vs_grow(list->events, list->event_count, &list->event_cap, sizeof(*list->events));
    list->events[list->event_count++] = (struct eng_record_event){
        .kind = kind, .address = address, .bytes = bytes, .stream = ps->stream};
}

static void add_free(struct parser *ps, char letter, uint64_t address, uint64_t bytes)
{
    if (letter == 'f' || letter == 'F' || letter == 'r' || letter == 'R')
        add_event(ps, ENG_ALLOC_EV_FREE_REQUESTED, address, bytes);
    if (letter == 'f' || letter == 'F' || letter == 'c' || letter == 'C')
        add_event(ps, ENG_ALLOC_EV_FREE_COMPLETED, address, bytes);
}

static bool parse_free(struct parser *ps, const char *line)
{
    uint64_t address;
    uint64_t n;

    if (strchr("frc", line[0])) {
        if (sscanf(line + 1, " %" SCNu64, &n) != 1 || n == 0 || n > ps->alloc_count)
            return false;
        const struct named *alloc = &ps->allocs[ps->alloc_count - n];
        add_free(ps, line[0], alloc->address, alloc->bytes);
        return true;
    }
    if (sscanf(line + 1, " %" SCNx64 " %" SCNu64, &address, &n) != 2)
        return false;
    add_free(ps, line[0], address * UNIT, n);
    return true;
}

static bool parse_alloc(struct parser *ps, const char *line)
{
    int64_t delta;
    uint64_t bytes;

    if (sscanf(line, "a %" SCNd64 " %" SCNu64, &delta, &bytes) != 2)
        return false;
    ps->last_address += (uint64_t)delta * UNIT;
    ps->allocs = vs_grow(ps->allocs, ps->alloc_count, &ps->alloc_cap, sizeof(*ps->allocs));
    ps->allocs[ps->alloc_count++] = (struct named){ps->last_address, bytes};
    add_event(ps, ENG_ALLOC_EV_ALLOC, ps->last_address, bytes);
    return true;
}

static bool parse_segment_event(struct parser *ps, const char *line)
{
    const unsigned kind = line[0] == '+'   ? ENG_ALLOC_EV_SEGMENT_ALLOC
                          : line[0] == '-' ? ENG_ALLOC_EV_SEGMENT_FREE
                          : line[0] == 'm' ? ENG_ALLOC_EV_SEGMENT_MAP
                                           : ENG_ALLOC_EV_SEGMENT_UNMAP;
    uint64_t address;
    uint64_t units;

    if (sscanf(line + 1, " %" SCNx64 " %" SCNu64, &address, &units) != 2)
        return false;
    add_event(ps, kind, address * UNIT, units * UNIT);
    return true;
}

static bool parse_event(struct parser *ps, const char *line)
{
    uint64_t a;
    uint64_t b;

    switch (line[0]) {
    case 'a':
        return parse_alloc(ps, line);
    case '+':
    case '-':
    case 'm':
    case 'u':
        return parse_segment_event(ps, line);
    case 't':
        return sscanf(line, "t %" SCNx64, &ps->stream) == 1;
    case 'o':
        if (sscanf(line, "o %" SCNu64 " %" SCNu64, &a, &b) != 2)
            return false;
        add_event(ps, ENG_ALLOC_EV_OOM, a, b);
        return true;
    case 'n':
        if (sscanf(line, "n %" SCNu64, &a) != 1)
            return false;
        add_event(ps, ENG_RECORD_SNAPSHOT, 0, a);
        return true;
    default:
        return line[0] != '\0' && strchr("frcFRC", line[0]) && parse_free(ps, line);
    }
}

static bool parse_segment(struct parser *ps, const char *line)
{
    struct eng_record_segment *seg = eng_record_state_add_segment(&ps->list->final);
    char pool[3] = "";
    int fields =
        sscanf(line, "S %" SCNx64 " %" SCNu64 " %" SCNx64 " %2s %" SCNu64 ":%" SCNu64,
               &seg->address, &seg->bytes, &seg->stream, pool, &seg->pool.graph, &seg->pool.user);

    seg->address *= UNIT;
    seg->bytes *= UNIT;
    seg->is_small = pool[0] == 's';
    seg->is_expandable = pool[1] == 'e';
    return fields == 4 || fields == 6;
}

static bool parse_block(struct parser *ps, const char *line)
{
    struct eng_record_block block = {.state = line[0] == 'i'   ? ENG_BLOCK_INACTIVE
                                              : line[0] == 'a' ? ENG_BLOCK_ALLOCATED
                                                               : ENG_BLOCK_PENDING_FREE};
    int fields = sscanf(line + 1, " %" SCNu64 " %" SCNu64, &block.bytes, &block.requested_bytes);

    block.bytes *= UNIT;
    if (fields != (line[0] == 'i' ? 1 : 2) || ps->list->final.segment_count == 0)
        return false;
    eng_record_state_add_block(&ps->list->final, block);
    return true;
}

static bool parse_line(struct parser *ps, const char *line, size_t number)
{
    struct vs_error err = VS_ERROR_INIT;

    if (number == 1)
        return strcmp(line, "vramscope allocator list 1") == 0;
    if (ps->in_events)
        return parse_event(ps, line);
    if (strncmp(line, "conf", 4) == 0)
        return eng_alloc_conf_parse(line + 4, &ps->list->conf, &err) == VS_OK;
    if (sscanf(line, "state %" SCNu64 " %" SCNu64, &ps->state_segments, &ps->state_blocks) == 2)
        return true;
    if (sscanf(line, "events %" SCNu64, &ps->announced_events) == 1) {
        ps->in_events = true;
        return true;
    }
    if (line[0] == 'S')
        return parse_segment(ps, line);
    return line[0] != '\0' && strchr("iap", line[0]) && parse_block(ps, line);
}

enum vs_status alloc_list_read(const char *path, struct alloc_list *out, struct vs_error *err)
{
    struct parser ps = {.list = out};
    enum vs_status st = VS_OK;
    size_t number = 0;
    char line[256];
    FILE *file = fopen(path, "r");

    *out = (struct alloc_list){0};
    eng_alloc_conf_init(&out->conf);
    if (!file)
        return vs_fail(err, VS_E_IO, "%s: cannot be opened; run from the project's root", path);
    while (!st && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        if (!parse_line(&ps, line, ++number))
            st = vs_fail(err, VS_E_FORMAT, "%s:%zu: not understood: %s", path, number, line);
    }
    if (!st && (out->event_count != ps.announced_events || !ps.in_events ||
                out->final.segment_count != ps.state_segments ||
                out->final.block_count != ps.state_blocks))
        st = vs_fail(err, VS_E_FORMAT, "%s: other counts than it announces", path);
    fclose(file);
    vs_free(ps.allocs);
    if (st)
        alloc_list_release(out);
    return st;
}

void alloc_list_release(struct alloc_list *list)
{
    eng_record_state_release(&list->final);
    vs_free(list->events);
    *list = (struct alloc_list){0};
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
