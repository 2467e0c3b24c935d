/*
 * recording/memlist_compact.c - reads the compact list format, which tests/oracle/snapshot_lists.py describes and
 * writes.
 *
 * Must not know:  files.
 * Invariant:      a list with an invalid line is refused.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "recording/memlist_internal.h"

#define UNIT 512

/* An alloc event that has not been freed yet. */
struct named {
    uint64_t address;
    uint64_t bytes;
};

struct parser {
    struct vs_memlist *list;
    struct named *allocs;
    size_t alloc_count, alloc_cap;
    uint64_t stream;
    uint64_t last_address;
    uint64_t state_segments;
    uint64_t state_blocks;
    uint64_t announced_events;
    bool in_events;
};

static void add_free(struct parser *ps, char letter, uint64_t address, uint64_t bytes)
{
    if (strchr("fFrR", letter))
        vs_memlist_add_event(ps->list, VS_MEM_FREE_REQUESTED, address, bytes, ps->stream);
    if (strchr("fFcC", letter))
        vs_memlist_add_event(ps->list, VS_MEM_FREE_COMPLETED, address, bytes, ps->stream);
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

static bool parse_class(char letter, uint8_t *out)
{
    static const char LETTERS[] = {'t', 'w', 'r', 's', 'x'};

    for (size_t i = 0; i < VS_MEM_CLASS_COUNT; i++)
        if (letter == LETTERS[i]) {
            *out = (uint8_t)i;
            return true;
        }
    return false;
}

static bool parse_alloc(struct parser *ps, const char *line)
{
    struct vs_mem_event *event;
    int64_t delta;
    uint64_t bytes;
    char cls = 't';

    if (sscanf(line, "a %" SCNd64 " %" SCNu64 " %c", &delta, &bytes, &cls) < 2)
        return false;
    ps->last_address += (uint64_t)delta * UNIT;
    ps->allocs = vs_grow(ps->allocs, ps->alloc_count, &ps->alloc_cap, sizeof(*ps->allocs));
    ps->allocs[ps->alloc_count++] = (struct named){ps->last_address, bytes};
    event = vs_memlist_add_event(ps->list, VS_MEM_ALLOC, ps->last_address, bytes, ps->stream);
    return parse_class(cls, &event->cls);
}

static bool parse_segment_event(struct parser *ps, const char *line)
{
    const enum vs_mem_kind kind = line[0] == '+'   ? VS_MEM_SEGMENT_ALLOC
                                  : line[0] == '-' ? VS_MEM_SEGMENT_FREE
                                  : line[0] == 'm' ? VS_MEM_SEGMENT_MAP
                                                   : VS_MEM_SEGMENT_UNMAP;
    uint64_t address;
    uint64_t units;

    if (sscanf(line + 1, " %" SCNx64 " %" SCNu64, &address, &units) != 2)
        return false;
    vs_memlist_add_event(ps->list, kind, address * UNIT, units * UNIT, ps->stream);
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
        vs_memlist_add_event(ps->list, VS_MEM_OOM, a, b, ps->stream);
        return true;
    case 'n':
        if (sscanf(line, "n %" SCNu64, &a) != 1)
            return false;
        vs_memlist_add_event(ps->list, VS_MEM_SNAPSHOT, 0, a, ps->stream);
        return true;
    default:
        return line[0] != '\0' && strchr("frcFRC", line[0]) && parse_free(ps, line);
    }
}

static bool parse_segment(struct parser *ps, const char *line)
{
    struct vs_mem_segment *seg = vs_memlist_add_segment(ps->list);
    char pool[3] = "";
    int fields =
        sscanf(line, "S %" SCNx64 " %" SCNu64 " %" SCNx64 " %2s %" SCNu64 ":%" SCNu64,
               &seg->address, &seg->bytes, &seg->stream, pool, &seg->pool_graph, &seg->pool_user);

    seg->address *= UNIT;
    seg->bytes *= UNIT;
    seg->is_small = pool[0] == 's';
    seg->is_expandable = pool[1] == 'e';
    return fields == 4 || fields == 6;
}

static bool parse_block(struct parser *ps, const char *line)
{
    struct vs_mem_block block = {.state = line[0] == 'i'   ? VS_MEM_INACTIVE
                                          : line[0] == 'a' ? VS_MEM_ALLOCATED
                                                           : VS_MEM_PENDING_FREE};
    int fields = sscanf(line + 1, " %" SCNu64 " %" SCNu64, &block.bytes, &block.requested);

    block.bytes *= UNIT;
    if (fields != (line[0] == 'i' ? 1 : 2) || ps->list->segment_count == 0)
        return false;
    vs_memlist_add_block(ps->list, block);
    return true;
}

static bool parse_line(struct parser *ps, const char *line, size_t number)
{
    if (number == 1)
        return strcmp(line, REC_MEMLIST_TITLE) == 0;
    if (ps->in_events)
        return parse_event(ps, line);
    if (strncmp(line, "conf", 4) == 0) {
        vs_free(ps->list->conf);
        ps->list->conf = vs_strdup(line[4] == ' ' ? line + 5 : line + 4);
        return true;
    }
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

enum vs_status rec_memlist_compact(char *text, struct vs_memlist *out, struct vs_error *err)
{
    struct parser ps = {.list = out};
    enum vs_status st = VS_OK;
    size_t number = 0;
    char *line = text;

    out->has_addresses = true;
    out->has_state = true;
    while (*line && !st) {
        char *end = line + strcspn(line, "\n");
        char *next = end + (*end == '\n');

        *end = '\0';
        if (!parse_line(&ps, line, ++number))
            st = vs_fail(err, VS_E_FORMAT, "line %zu is not understood: %.80s", number, line);
        line = next;
    }
    if (!st && (out->event_count != ps.announced_events || !ps.in_events ||
                out->segment_count != ps.state_segments || out->block_count != ps.state_blocks))
        st = vs_fail(err, VS_E_FORMAT,
                     "it has other numbers of events, segments or blocks than it announces");
    vs_free(ps.allocs);
    return st;
}
