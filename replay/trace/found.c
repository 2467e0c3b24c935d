/*
 * replay/trace/found.c - see found.h.
 *
 * Must not know:  SQL.
 */
#include "replay/trace/found.h"

#include "base/mem.h"
#include "replay/trace/trace_internal.h"
#include "store/held/held.h"

static void seq_take(void *user, uint64_t seq)
{
    struct rpl_found *found = user;

    found->seqs = vs_grow(found->seqs, found->count, &found->cap, sizeof(*found->seqs));
    found->seqs[found->count++] = seq;
}

bool rpl_found_has(struct rpl_trace *trace, uint64_t seq)
{
    struct rpl_found *found = rpl_trace_found(trace);
    struct sto_reader *reader = rpl_trace_reader(trace);
    struct vs_error ignored = VS_ERROR_INIT; /* without the list there are no holders to show */

    if (!found->is_read) {
        found->is_read = true;
        found->count = 0;
        /* only a program can be run again */
        if (reader && rpl_trace_is_imported(trace) &&
            sto_held_events(reader, seq_take, found, &ignored))
            found->count = 0;
    }
    for (size_t i = 0; i < found->count; i++)
        if (found->seqs[i] == seq)
            return true;
    return false;
}

const char *rpl_found_path(const struct rpl_trace *trace)
{
    const struct sto_reader *reader = rpl_trace_reader(trace);

    return reader ? sto_reader_path(reader) : NULL;
}

struct taking {
    struct rpl_found_row *rows;
    size_t count;
    size_t cap;
};

static void row_take(void *user, uint64_t block, uint32_t kind, uint32_t name, uint32_t scope,
                     uint32_t place, uint64_t node)
{
    struct taking *t = user;

    if (kind >= VS_HOLDER_COUNT) /* of a later version */
        return;
    t->rows = vs_grow(t->rows, t->count, &t->cap, sizeof(*t->rows));
    t->rows[t->count++] = (struct rpl_found_row){.block = block,
                                                 .kind = kind,
                                                 .name = name,
                                                 .scope = scope,
                                                 .location = place,
                                                 .node = node};
}

enum vs_status rpl_found_get(struct rpl_trace *trace, uint64_t seq, struct rpl_found_row **out,
                             size_t *count, struct vs_error *err)
{
    struct taking t = {NULL, 0, 0};
    enum vs_status st = sto_held_each(rpl_trace_reader(trace), seq, row_take, &t, err);

    if (st) {
        vs_free(t.rows);
        t = (struct taking){NULL, 0, 0};
    }
    *out = t.rows;
    *count = t.count;
    return st;
}
