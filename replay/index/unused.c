/*
 * replay/index/unused.c - see unused.h: computes the states in three passes over the data of the index.
 *
 * Must not know:  events; files.
 * Invariant:      the set of unused blocks does not change between two borders: the events between them are a run, of
 *                 which only the highest total matters.
 */
#include "replay/index/unused.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "replay/index/index_internal.h"
#include "replay/index/unused_internal.h"
#include "replay/trace/pack.h"

/* Memory of a scratch is given back after so many items, or chunks: some MiB. */
#define DROP_ITEMS 65536
#define DROP_CHUNKS 64

/* From event `seq` on, `bytes` more of a site are unused, or fewer (is_end). */
struct border {
    uint64_t seq;
    uint64_t bytes;
    uint32_t site;
    bool is_end;
};

/*
 * A fingerprint of a state: two weighted sums over the unused bytes of all sites; states with equal sums are taken to
 * be equal.
 */
struct print {
    uint64_t a;
    uint64_t b;
};

/*
 * The events from a border to the next.
 *
 * end      borders[… end - 1] are passed
 * highest  the highest total in it; 0: there is none
 * print    fingerprint of its state, if it is the first run with that state
 * is_kept  it represents its state
 */
struct run {
    size_t end;
    uint64_t highest;
    struct print print;
    bool is_kept;
};

/*
 * by_location  finds a site by location and size
 * by_print     finds the first run of a state
 */
struct finding {
    struct rpl_index *index;
    struct rpl_unused *unused;
    size_t site_cap;
    struct vs_table by_location;
    struct border *borders;
    size_t border_count;
    size_t border_cap;
    struct run *runs;
    size_t run_count;
    struct vs_table by_print;
};

static uint64_t mixed(uint64_t n)
{
    n = (n ^ n >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    n = (n ^ n >> 27) * UINT64_C(0x94D049BB133111EB);
    return n ^ n >> 31;
}

/* ---- sites ---- */

static uint32_t site_of(struct finding *f, uint32_t location, uint64_t requested)
{
    const uint64_t hash = vs_hash_mix(location, requested);
    struct vs_probe probe = vs_probe(hash);
    struct rpl_unused *unused = f->unused;

    while (vs_table_next(&f->by_location, &probe)) {
        const struct rpl_unused_site *site = &unused->sites[probe.item];

        if (site->location == location && site->requested == requested)
            return probe.item;
    }
    vs_table_add(&f->by_location, hash, unused->site_count);
    unused->sites =
        vs_grow(unused->sites, unused->site_count, &f->site_cap, sizeof(*unused->sites));
    unused->sites[unused->site_count] = (struct rpl_unused_site){location, requested};
    return (uint32_t)unused->site_count++;
}

/* ---- borders ---- */

/* Capacity for one more item of a vector. */
static void *vector_grow(const struct finding *f, void *vec, size_t count, size_t *cap,
                         size_t bytes)
{
    return f->index->scratch ? rpl_scratch_reserve(f->index->scratch, vec, count + 1, cap, bytes)
                             : vs_grow(vec, count, cap, bytes);
}

/* Capacity for `count` items of a new vector. */
static void *vector_new(const struct finding *f, size_t count, size_t bytes)
{
    size_t cap = 0;

    return rpl_scratch_reserve(f->index->scratch, NULL, count + 1, &cap, bytes);
}

static void vector_free(const struct finding *f, void *vec)
{
    if (!f->index->scratch)
        vs_free(vec);
}

/* Item `i` of a long loop is next. */
static void pause_at(const struct finding *f, size_t i)
{
    if (i % DROP_ITEMS == 0)
        rpl_scratch_drop(f->index->scratch);
}

static void border_add(struct finding *f, uint64_t seq, const struct rpl_row *row, uint32_t site,
                       bool is_end)
{
    f->borders = vector_grow(f, f->borders, f->border_count, &f->border_cap, sizeof(*f->borders));
    f->borders[f->border_count++] = (struct border){seq, row->bytes, site, is_end};
}

static int by_seq(const void *a, const void *b)
{
    const struct border *x = a;
    const struct border *y = b;

    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* Sort the borders chunk by chunk: those of one chunk fit into the processor's cache. */
static void borders_sort(struct finding *f)
{
    size_t chunks = f->index->chunks.count;
    size_t *next = vs_calloc(chunks + 1, sizeof(*next));
    struct border *sorted = vector_new(f, f->border_count, sizeof(*sorted));

    for (size_t i = 0; i < f->border_count; i++) {
        pause_at(f, i);
        next[rpl_index_chunk_of(f->borders[i].seq) + 1]++;
    }
    for (size_t c = 0; c < chunks; c++)
        next[c + 1] += next[c];
    for (size_t i = 0; i < f->border_count; i++) {
        pause_at(f, i);
        sorted[next[rpl_index_chunk_of(f->borders[i].seq)]++] = f->borders[i];
    }
    /* next[c] is now the end of chunk c. */
    for (size_t c = 0; c < chunks; c++) {
        size_t first = c ? next[c - 1] : 0;

        pause_at(f, c * (DROP_ITEMS / DROP_CHUNKS));
        if (next[c] > first + 1)
            qsort(sorted + first, next[c] - first, sizeof(*sorted), by_seq);
    }
    vs_free(next);
    vector_free(f, f->borders);
    f->borders = sorted;
}

static enum vs_status borders_find(struct finding *f, struct vs_error *err)
{
    for (size_t i = 0; i < f->index->rows.count; i++) {
        const struct rpl_row *row;
        uint32_t site;
        enum vs_status st;

        pause_at(f, i);
        st = rpl_index_row(f->index, i, &row, err);

        if (st)
            return st;
        if (!row->unused_seq || row->unused_seq == row->free_seq || !row->bytes)
            continue;
        site = site_of(f, row->location, row->requested);
        border_add(f, row->unused_seq, row, site, false);
        if (row->free_seq)
            border_add(f, row->free_seq, row, site, true);
    }
    borders_sort(f);
    return VS_OK;
}

/* ---- runs ---- */

static void runs_make(struct finding *f)
{
    f->runs = vector_new(f, f->border_count, sizeof(*f->runs));
    f->runs[0] = (struct run){.end = 0};
    f->run_count = 1;
    for (size_t i = 0; i < f->border_count; i++) {
        pause_at(f, i);
        if (i && f->borders[i].seq == f->borders[i - 1].seq)
            f->runs[f->run_count - 1].end = i + 1;
        else
            f->runs[f->run_count++] = (struct run){.end = i + 1};
    }
}

/* Compute the highest total of each run: between two changes the total is the one right after the first. */
static void runs_measure(struct finding *f)
{
    size_t run = 0;

    for (size_t c = 0; c < f->index->chunks.count; c++) {
        const struct rpl_blob *blob = &f->index->changes[c];
        struct rpl_unpack in = rpl_unpack_again(blob->bytes, blob->len);
        uint64_t allocated = rpl_index_chunks(f->index)[c].allocated;
        uint64_t seq = rpl_index_chunk_first(c);

        pause_at(f, c * (DROP_ITEMS / DROP_CHUNKS));
        while (in.at < in.end) {
            seq += rpl_unpack_uint(&in);
            allocated = rpl_unpack_bytes(&in, allocated);
            while (run + 1 < f->run_count && f->borders[f->runs[run].end].seq <= seq)
                run++;
            if (allocated > f->runs[run].highest)
                f->runs[run].highest = allocated;
        }
    }
}

static void floor_find(struct finding *f)
{
    uint64_t unused = 0;
    size_t at = 0;

    for (size_t r = 0; r < f->run_count; r++) {
        pause_at(f, r);
        for (; at < f->runs[r].end; at++)
            unused = f->borders[at].is_end ? unused - f->borders[at].bytes
                                           : unused + f->borders[at].bytes;
        if (f->runs[r].highest > unused && f->runs[r].highest - unused > f->unused->floor)
            f->unused->floor = f->runs[r].highest - unused;
    }
}

/* ---- states ---- */

static void print_add(struct print *print, const struct border *b)
{
    uint64_t weight = mixed(b->site + UINT64_C(1));
    uint64_t other = mixed(weight);

    print->a += b->is_end ? 0 - b->bytes * weight : b->bytes * weight;
    print->b += b->is_end ? 0 - b->bytes * other : b->bytes * other;
}

/* The first run that has the same state as run `r`. */
static struct run *state_of(struct finding *f, const struct print *print, size_t r)
{
    const uint64_t hash = vs_hash_mix(print->a, print->b);
    struct vs_probe probe = vs_probe(hash);

    while (vs_table_next(&f->by_print, &probe)) {
        const struct run *other = &f->runs[probe.item];

        if (other->print.a == print->a && other->print.b == print->b)
            return &f->runs[probe.item];
    }
    vs_table_add(&f->by_print, hash, r);
    f->runs[r].print = *print;
    return &f->runs[r];
}

/* Of all runs above the floor with the same state, keep the first, with the highest total of all of them. */
static void states_find(struct finding *f)
{
    struct print print = {0, 0};
    size_t at = 0;

    for (size_t r = 0; r < f->run_count; r++) {
        struct run *last;

        pause_at(f, r);
        for (; at < f->runs[r].end; at++)
            print_add(&print, &f->borders[at]);
        if (f->runs[r].highest <= f->unused->floor)
            continue;
        last = state_of(f, &print, r);
        last->is_kept = true;
        if (f->runs[r].highest > last->highest)
            last->highest = f->runs[r].highest;
        f->unused->state_count += last == &f->runs[r];
    }
}

/*
 * Write the kept states, each as its changes from the one before. A site is in `touched` once, however many borders
 * lie between two kept states.
 */
static void states_emit(struct finding *f)
{
    struct rpl_unused *unused = f->unused;
    uint64_t *now = vs_calloc(unused->site_count + 1, sizeof(*now));
    uint64_t *last = vs_calloc(unused->site_count + 1, sizeof(*last));
    uint32_t *touched = vs_calloc(unused->site_count + 1, sizeof(*touched));
    bool *is_touched = vs_calloc(unused->site_count + 1, sizeof(*is_touched));
    size_t touched_count = 0;
    size_t at = 0;
    size_t cap = 0;
    size_t state = 0;

    unused->states = vs_alloc((unused->state_count + 1) * sizeof(*unused->states));
    for (size_t r = 0; r < f->run_count; r++) {
        pause_at(f, r);
        for (; at < f->runs[r].end; at++) {
            const struct border *b = &f->borders[at];

            now[b->site] = b->is_end ? now[b->site] - b->bytes : now[b->site] + b->bytes;
            if (is_touched[b->site])
                continue;
            VS_ASSERT(touched_count < unused->site_count);
            is_touched[b->site] = true;
            touched[touched_count++] = b->site;
        }
        if (!f->runs[r].is_kept)
            continue;
        for (size_t i = 0; i < touched_count; i++) {
            uint32_t site = touched[i];

            is_touched[site] = false;
            if (now[site] == last[site])
                continue;
            unused->changes =
                vs_grow(unused->changes, unused->change_count, &cap, sizeof(*unused->changes));
            unused->changes[unused->change_count++] = (struct rpl_unused_change){site, now[site]};
            last[site] = now[site];
        }
        touched_count = 0;
        unused->states[state++] =
            (struct rpl_unused_state){f->runs[r].highest, unused->change_count};
    }
    vs_free(now);
    vs_free(last);
    vs_free(touched);
    vs_free(is_touched);
}

enum vs_status rpl_unused_find(struct rpl_index *index, struct rpl_unused **out,
                               struct vs_error *err)
{
    struct finding f = {.index = index, .unused = vs_calloc(1, sizeof(*f.unused))};
    enum vs_status st = borders_find(&f, err);

    *out = NULL;
    if (!st) {
        runs_make(&f);
        runs_measure(&f);
        floor_find(&f);
        states_find(&f);
        states_emit(&f);
        *out = f.unused;
        f.unused = NULL; /* handed over */
    }
    rpl_unused_free(f.unused);
    vs_table_release(&f.by_location);
    vector_free(&f, f.borders);
    vector_free(&f, f.runs);
    vs_table_release(&f.by_print);
    return st;
}

void rpl_unused_free(struct rpl_unused *unused)
{
    if (!unused)
        return;
    vs_free(unused->sites);
    vs_free(unused->states);
    vs_free(unused->changes);
    vs_free(unused);
}

/* ---- in a file ---- */

void rpl_unused_pack(const struct rpl_unused *unused, struct rpl_pack *out)
{
    uint64_t *now = vs_calloc(unused->site_count + 1, sizeof(*now));
    uint64_t allocated = 0;
    size_t at = 0;

    rpl_pack_uint(out, unused->floor);
    rpl_pack_uint(out, unused->site_count);
    for (size_t i = 0; i < unused->site_count; i++) {
        rpl_pack_uint(out, unused->sites[i].location);
        rpl_pack_uint(out, unused->sites[i].requested);
    }
    rpl_pack_uint(out, unused->state_count);
    rpl_pack_uint(out, unused->change_count);
    for (size_t i = 0; i < unused->state_count; i++) {
        rpl_pack_bytes(out, allocated, unused->states[i].allocated);
        allocated = unused->states[i].allocated;
        rpl_pack_uint(out, unused->states[i].end - at);
        for (; at < unused->states[i].end; at++) {
            const struct rpl_unused_change *c = &unused->changes[at];

            rpl_pack_uint(out, c->site);
            rpl_pack_bytes(out, now[c->site], c->bytes);
            now[c->site] = c->bytes;
        }
    }
    vs_free(now);
}

/* Unpack a state and its changes. False: there are more changes than expected, or one of an unknown site. */
static bool state_unpack(struct rpl_unused *unused, struct rpl_unpack *in, uint64_t *now, size_t i,
                         size_t *at)
{
    uint64_t before = i ? unused->states[i - 1].allocated : 0;
    uint64_t count;

    unused->states[i].allocated = rpl_unpack_bytes(in, before);
    count = rpl_unpack_uint(in);
    if (in->is_bad || count > unused->change_count - *at)
        return false;
    while (count--) {
        uint64_t site = rpl_unpack_uint(in);

        if (site >= unused->site_count)
            return false;
        now[site] = rpl_unpack_bytes(in, now[site]);
        unused->changes[(*at)++] = (struct rpl_unused_change){(uint32_t)site, now[site]};
    }
    unused->states[i].end = *at;
    return true;
}

struct rpl_unused *rpl_unused_unpack(struct rpl_unpack *in)
{
    struct rpl_unused *unused = vs_calloc(1, sizeof(*unused));
    /* Each item takes at least one byte. */
    size_t most = (size_t)(in->end - in->at);
    uint64_t *now = NULL;
    size_t at = 0;
    bool is_good;

    unused->floor = rpl_unpack_uint(in);
    unused->site_count = (size_t)rpl_unpack_uint(in);
    is_good = !in->is_bad && unused->site_count <= most;
    if (is_good) {
        unused->sites = vs_alloc((unused->site_count + 1) * sizeof(*unused->sites));
        now = vs_calloc(unused->site_count + 1, sizeof(*now));
        for (size_t i = 0; i < unused->site_count; i++) {
            unused->sites[i].location = (uint32_t)rpl_unpack_uint(in);
            unused->sites[i].requested = rpl_unpack_uint(in);
        }
        unused->state_count = (size_t)rpl_unpack_uint(in);
        unused->change_count = (size_t)rpl_unpack_uint(in);
        is_good = !in->is_bad && unused->state_count <= most && unused->change_count <= most;
    }
    if (is_good) {
        unused->states = vs_alloc((unused->state_count + 1) * sizeof(*unused->states));
        unused->changes = vs_alloc((unused->change_count + 1) * sizeof(*unused->changes));
    }
    for (size_t i = 0; is_good && i < unused->state_count; i++)
        is_good = state_unpack(unused, in, now, i, &at);
    vs_free(now);
    if (is_good && at == unused->change_count && rpl_unpack_is_done(in))
        return unused;
    rpl_unused_free(unused);
    return NULL;
}
