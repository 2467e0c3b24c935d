/*
 * tracer/cupti/cupti_memory.c - see cupti_memory.h.
 *
 * Must not know:  the caller.
 * Invariant:      each list contains only unmatched entries, the oldest first; except for foreign memory the lists are
 *                 short.
 */
#include "tracer/cupti/cupti_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define CREATE "cuMemCreate"

struct list {
    struct cupti_record *items;
    size_t count;
    size_t cap;
};

struct cupti_memory {
    struct list asked;
    struct list seen;
    struct list created_asked;
    struct list created_seen;
    struct cupti_memory_counts counts;
};

struct cupti_memory *cupti_memory_new(void)
{
    return vs_calloc(1, sizeof(struct cupti_memory));
}

void cupti_memory_free(struct cupti_memory *m)
{
    if (!m)
        return;
    vs_free(m->asked.items);
    vs_free(m->seen.items);
    vs_free(m->created_asked.items);
    vs_free(m->created_seen.items);
    vs_free(m);
}

const struct cupti_memory_counts *cupti_memory_counts(const struct cupti_memory *m)
{
    return &m->counts;
}

static bool answers(const struct cupti_record *a, const struct cupti_record *b)
{
    return a->what == b->what && a->address == b->address &&
           (a->what == CUPTI_GIVEN || a->bytes == b->bytes);
}

/* Remove the oldest matching entry from `others`; if there is none, add the record to `own`. */
static void match(struct list *own, struct list *others, const struct cupti_record *r)
{
    size_t i = 0;

    while (i < others->count && !answers(&others->items[i], r))
        i++;
    if (i < others->count) {
        others->count--;
        memmove(others->items + i, others->items + i + 1,
                (others->count - i) * sizeof(*others->items));
        return;
    }
    own->items = vs_grow(own->items, own->count, &own->cap, sizeof(*own->items));
    own->items[own->count++] = *r;
}

void cupti_memory_asked(struct cupti_memory *m, bool is_taken, uint64_t address, uint64_t bytes)
{
    const struct cupti_record r = {
        .what = is_taken ? CUPTI_TAKEN : CUPTI_GIVEN, .address = address, .bytes = bytes};

    match(&m->asked, &m->seen, &r);
}

void cupti_memory_seen(struct cupti_memory *m, const struct cupti_record *record)
{
    if (record->what == CUPTI_POOL) {
        m->counts.pools++;
        return;
    }
    m->counts.seen++;
    match(&m->seen, &m->asked, record);
}

void cupti_memory_created_asked(struct cupti_memory *m, uint64_t bytes)
{
    match(&m->created_asked, &m->created_seen,
          &(struct cupti_record){.what = CUPTI_TAKEN, .bytes = bytes});
}

void cupti_memory_created_seen(struct cupti_memory *m, uint64_t op_seq, uint64_t bytes)
{
    m->counts.seen++;
    match(&m->created_seen, &m->created_asked,
          &(struct cupti_record){.what = CUPTI_TAKEN, .bytes = bytes, .op_seq = op_seq});
}

/* ---- foreign memory ---- */

static int by_source(const void *a, const void *b)
{
    const struct sto_foreign *x = a;
    const struct sto_foreign *y = b;
    int order = strcmp(x->api, y->api);

    if (!order)
        order = strcmp(x->library, y->library);
    return order ? order : x->op_seq < y->op_seq ? -1 : x->op_seq > y->op_seq;
}

static struct sto_foreign foreign_of(const struct cupti_record *r, const char *api)
{
    bool is_taken = r->what == CUPTI_TAKEN;

    return (struct sto_foreign){.api = api,
                                .library = r->name ? r->name : "",
                                .op_seq = r->op_seq,
                                .allocs = is_taken,
                                .alloc_bytes = is_taken ? r->bytes : 0,
                                .frees = !is_taken,
                                .free_bytes = is_taken ? 0 : r->bytes};
}

static size_t merge(struct sto_foreign *rows, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        struct sto_foreign *last = kept ? &rows[kept - 1] : NULL;

        if (!last || by_source(last, &rows[i]) != 0) {
            rows[kept++] = rows[i];
            continue;
        }
        last->allocs += rows[i].allocs;
        last->alloc_bytes += rows[i].alloc_bytes;
        last->frees += rows[i].frees;
        last->free_bytes += rows[i].free_bytes;
    }
    return kept;
}

void cupti_memory_end(struct cupti_memory *m, cupti_call_name_fn *name, void *user,
                      struct sto_foreign **out, size_t *count)
{
    size_t total = m->seen.count + m->created_seen.count;
    struct sto_foreign *rows = vs_calloc(total + 1, sizeof(*rows));

    for (size_t i = 0; i < m->seen.count; i++)
        rows[i] = foreign_of(&m->seen.items[i],
                             name(user, m->seen.items[i].call, m->seen.items[i].is_driver));
    for (size_t i = 0; i < m->created_seen.count; i++)
        rows[m->seen.count + i] = foreign_of(&m->created_seen.items[i], CREATE);
    m->counts.foreign = total;
    m->counts.unseen = m->asked.count + m->created_asked.count;
    qsort(rows, total, sizeof(*rows), by_source);
    *count = merge(rows, total);
    *out = rows;
}
