/*
 * store/repeat/repeat.c - see repeat.h.
 *
 * Must not know:  the meaning of events, except of `step`.
 * Invariant:      two parts with the same hash have the same events, but for times, steps, and ids above the limits:
 *                 these are counted back from the highest of their sort in the part.
 */
#include "store/repeat/repeat.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "store/chunk_internal.h"
#include "store/reader_internal.h"

/* A period has at most so many chunks. */
#define PERIOD_MAX 64
/* Where none of the first so many chunks is a copy of another, steps are shorter than a chunk. */
#define PATIENCE 128
/* Copies that differ in sizes or addresses are decoded once for each reference. */
#define VARIANTS_MAX 32

/* A chunk. newest: the highest ids above the limits; 0: none. is_known: whether `hash` and `newest` are. */
struct part {
    uint64_t first_seq;
    uint64_t hash;
    uint64_t newest[STO_IDS_SHIFTED];
    bool is_known;
};

/* A copy of a chunk that was decoded: of which, how, with which shift, and what came out. */
struct variant {
    int64_t reference;
    uint64_t outline;
    uint64_t shift[STO_IDS_SHIFTED];
    struct part part;
};

struct find {
    struct sto_reader *reader;
    struct sto_loader *loader;
    struct sto_decoder *decoder;
    struct vs_event *events;
    struct part *parts;
    size_t count, cap;
    struct variant variants[VARIANTS_MAX];
    size_t variant_count;
    uint64_t limit[STO_IDS_SHIFTED];
    bool has_limit;
};

/* The fields of an event that may be ids; e has 32 bits. */
static void ids_get(const struct vs_event *event, uint64_t ids[4])
{
    ids[0] = event->raw.a;
    ids[1] = event->raw.b;
    ids[2] = event->raw.c;
    ids[3] = event->raw.e;
}

void sto_repeat_newest(const struct vs_event *event, uint64_t newest[STO_IDS_SHIFTED])
{
    uint8_t sorts[4];
    uint64_t ids[4];

    sto_event_ids(event, sorts);
    ids_get(event, ids);
    for (int i = 0; i < 4; i++)
        if (sorts[i] && ids[i] > newest[sorts[i] - 1])
            newest[sorts[i] - 1] = ids[i];
}

void sto_repeat_shift(struct vs_event *event, const uint64_t newest[STO_IDS_SHIFTED],
                      const uint64_t by[STO_IDS_SHIFTED])
{
    uint8_t sorts[4];
    uint64_t ids[4];

    sto_event_ids(event, sorts);
    ids_get(event, ids);
    for (int i = 0; i < 4; i++)
        if (sorts[i] && ids[i] > newest[sorts[i] - 1])
            ids[i] -= by[sorts[i] - 1];
    event->raw.a = ids[0];
    event->raw.b = ids[1];
    event->raw.c = ids[2];
    event->raw.e = (uint32_t)ids[3];
}

/* ---- what a chunk is ---- */

/* The hash of the decoded events, and their highest ids. */
static void part_hash(const struct find *f, size_t count, struct part *part)
{
    uint64_t hash = count;

    memcpy(part->newest, f->limit, sizeof(part->newest));
    for (size_t i = 0; i < count; i++)
        sto_repeat_newest(&f->events[i], part->newest);
    for (size_t i = 0; i < count; i++) {
        const struct vs_event *event = &f->events[i];
        uint8_t sorts[4];
        uint64_t ids[4];

        sto_event_ids(event, sorts);
        ids_get(event, ids);
        if (event->kind == VS_EV_STEP)
            ids[0] = 0;
        for (int k = 0; k < 4; k++)
            if (sorts[k] && ids[k] > f->limit[sorts[k] - 1])
                ids[k] -= part->newest[sorts[k] - 1] + 1;
        hash = vs_hash_mix(hash, (uint64_t)event->location << 32 | (uint64_t)event->raw.aux << 8 |
                                     event->kind);
        for (int k = 0; k < 4; k++)
            hash = vs_hash_mix(hash, ids[k]);
        hash = vs_hash_mix(hash, event->raw.d);
    }
    for (int s = 0; s < STO_IDS_SHIFTED; s++)
        if (part->newest[s] == f->limit[s])
            part->newest[s] = 0;
    part->hash = hash;
    part->is_known = true;
}

/*
 * Whether the ids of the decoded events up to `limit` are those up to f->limit: then a copy with another shift has the
 * same hash.
 */
static bool is_same_limit(const struct find *f, size_t count, const uint64_t limit[])
{
    uint8_t sorts[4];
    uint64_t ids[4];

    if (memcmp(limit, f->limit, sizeof(f->limit)) == 0)
        return true;
    for (size_t i = 0; i < count; i++) {
        sto_event_ids(&f->events[i], sorts);
        ids_get(&f->events[i], ids);
        for (int k = 0; k < 4; k++)
            if (sorts[k] && (ids[k] > f->limit[sorts[k] - 1]) != (ids[k] > limit[sorts[k] - 1]))
                return false;
    }
    return true;
}

/* Decode the chunk `id` into f->events. */
static enum vs_status chunk_decode(struct find *f, int64_t id, size_t *count, struct vs_error *err)
{
    enum vs_status st = sto_loader_read(f->loader, id, count, err);

    return st ? st : sto_loader_events(f->loader, f->events, *count, err);
}

static struct variant *variant_find(struct find *f, int64_t reference, uint64_t outline)
{
    for (size_t i = 0; i < VARIANTS_MAX && i < f->variant_count; i++)
        if (f->variants[i].reference == reference && f->variants[i].outline == outline)
            return &f->variants[i];
    return NULL;
}

/* Fill the part of a copy. */
static enum vs_status copy_take(struct find *f, int64_t id, int64_t reference,
                                const struct sto_outline *outline, struct part *part,
                                struct vs_error *err)
{
    struct variant *variant = variant_find(f, reference, outline->hash);
    const uint64_t first_seq = part->first_seq;
    enum vs_status st = VS_OK;

    if (!f->has_limit)
        memcpy(f->limit, outline->limit, sizeof(f->limit));
    f->has_limit = true;
    if (!variant) {
        size_t count = 0;

        st = chunk_decode(f, id, &count, err);
        if (st)
            return st;
        variant = &f->variants[f->variant_count++ % VARIANTS_MAX];
        *variant = (struct variant){.reference = reference, .outline = outline->hash};
        memcpy(variant->shift, outline->shift, sizeof(variant->shift));
        part_hash(f, count, &variant->part);
        variant->part.is_known = is_same_limit(f, count, outline->limit);
    }
    *part = variant->part;
    part->first_seq = first_seq;
    for (int s = 0; s < STO_IDS_SHIFTED; s++)
        if (part->newest[s])
            part->newest[s] += outline->shift[s] - variant->shift[s];
    return VS_OK;
}

/* Add the chunk of the current row: id, count, reference, data. */
static enum vs_status row_take(struct find *f, sqlite3_stmt *stmt, uint64_t *seq,
                               struct vs_error *err)
{
    const int64_t id = sqlite3_column_int64(stmt, 0);
    const int64_t count = sqlite3_column_int64(stmt, 1);
    struct sto_chunk_in in = {.bytes = sqlite3_column_blob(stmt, 3)};
    struct sto_outline outline = {.is_copy = false};
    struct part *part;
    size_t decoded = 0;
    enum vs_status st = VS_OK;

    if (!in.bytes || count < 1 || count > STO_CHUNK_EVENTS_MAX)
        return vs_fail(err, VS_E_DAMAGED, "%s: the trace is damaged: chunk %lld has no events",
                       f->reader->path, (long long)id);
    in.len = (size_t)sqlite3_column_bytes(stmt, 3);
    f->parts = vs_grow(f->parts, f->count, &f->cap, sizeof(*f->parts));
    part = &f->parts[f->count++];
    *part = (struct part){.first_seq = *seq};
    *seq += (uint64_t)count;
    if (sqlite3_column_type(stmt, 2) != SQLITE_NULL &&
        !sto_outline(f->decoder, &in, (size_t)count, &outline))
        return vs_fail(err, VS_E_DAMAGED, "%s: the trace is damaged: chunk %lld cannot be read",
                       f->reader->path, (long long)id);
    if (outline.is_copy)
        return copy_take(f, id, sqlite3_column_int64(stmt, 2), &outline, part, err);
    if (f->has_limit) {
        st = chunk_decode(f, id, &decoded, err);
        if (!st)
            part_hash(f, decoded, part);
    }
    return st;
}

/* ---- what repeats ---- */

/* Whether chunk `k` is that of `period` chunks before; `shift` is set by the first that tells, and must be the same. */
static bool is_repeated(const struct find *f, size_t k, size_t period, bool has_shift[],
                        uint64_t shift[])
{
    const struct part *now = &f->parts[k];
    const struct part *before = &f->parts[k - period];

    if (!now->is_known || !before->is_known || now->hash != before->hash)
        return false;
    for (int s = 0; s < STO_IDS_SHIFTED; s++) {
        uint64_t by = now->newest[s] - before->newest[s];

        if (!now->newest[s])
            continue;
        if (has_shift[s] && by != shift[s])
            return false;
        has_shift[s] = true;
        shift[s] = by;
    }
    return true;
}

/* The index of the step that begins at event `seq`; SIZE_MAX: none does. */
static size_t step_at(const struct sto_reader *r, uint64_t seq)
{
    size_t low = 0;
    size_t high = sto_reader_step_count(r);

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (sto_reader_step_at(r, middle)->first_seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sto_reader_step_count(r) && sto_reader_step_at(r, low)->first_seq == seq
               ? low
               : SIZE_MAX;
}

/*
 * The chunks `from` … `end` - 1 repeat those of `period` chunks before: take it if that is longer than what is known.
 */
static void run_take(struct find *f, size_t from, size_t end, size_t period, const uint64_t shift[],
                     struct sto_repeat *out)
{
    size_t begin = from - period;
    size_t step = SIZE_MAX;
    size_t next;
    uint64_t events;

    while (begin + period < end &&
           (step = step_at(f->reader, f->parts[begin].first_seq)) == SIZE_MAX)
        begin++;
    if (begin + period >= end)
        return;
    next = step_at(f->reader, f->parts[begin + period].first_seq);
    events = f->parts[begin + period].first_seq - f->parts[begin].first_seq;
    if (next == SIZE_MAX || (end - begin) / period * events <= out->count * out->events)
        return;
    *out = (struct sto_repeat){
        .first = f->parts[begin].first_seq,
        .events = events,
        .steps = next - step,
        .count = (end - begin) / period,
    };
    memcpy(out->limit, f->limit, sizeof(out->limit));
    memcpy(out->shift, shift, sizeof(out->shift));
}

/* All runs of one period. */
static void runs_find(struct find *f, size_t period, struct sto_repeat *out)
{
    size_t k = period;

    while (k < f->count) {
        bool has_shift[STO_IDS_SHIFTED] = {false};
        uint64_t shift[STO_IDS_SHIFTED] = {0};
        size_t from = k;

        while (k < f->count && is_repeated(f, k, period, has_shift, shift))
            k++;
        if (k > from)
            run_take(f, from, k, period, shift, out);
        else
            k++;
    }
}

static enum vs_status chunks_read(struct find *f, struct vs_error *err)
{
    const struct sto_db *db = sto_reader_db(f->reader);
    sqlite3_stmt *stmt = NULL;
    uint64_t seq = 1;
    bool has_row = true;
    enum vs_status st;

    st = sto_db_prepare(db,
                        "SELECT id, count, reference, data FROM event_chunk WHERE id % 64 = 0 "
                        "ORDER BY id",
                        &stmt, err);
    while (!st) {
        st = sto_db_row(db, stmt, &has_row, err);
        if (st || !has_row || seq > sto_reader_event_count(f->reader) ||
            (f->count == PATIENCE && !f->has_limit))
            break;
        st = row_take(f, stmt, &seq, err);
    }
    sqlite3_finalize(stmt);
    return st;
}

enum vs_status sto_repeat_find(struct sto_reader *r, struct sto_repeat *out, struct vs_error *err)
{
    struct find f = {.reader = r};
    struct vs_error ignored = VS_ERROR_INIT;
    bool has_chunks = false;
    enum vs_status st;

    memset(out, 0, sizeof(*out));
    st = sto_db_table_find(sto_reader_db(r), "event_chunk", &has_chunks, err);
    if (st || !has_chunks || sto_reader_device_count(r))
        return st;
    st = sto_db_exec(sto_reader_db(r), "BEGIN", err);
    if (st)
        return st;
    f.decoder = sto_decoder_new();
    f.events = vs_alloc(STO_CHUNK_EVENTS_MAX * sizeof(*f.events));
    st = sto_loader_open(sto_reader_db(r), &f.loader, err);
    if (!st)
        st = chunks_read(&f, err);
    if (st)
        (void)!sto_db_exec(sto_reader_db(r), "ROLLBACK", &ignored); /* report the first failure */
    else
        st = sto_db_exec(sto_reader_db(r), "COMMIT", err);
    for (size_t period = 1; !st && period <= PERIOD_MAX; period++)
        runs_find(&f, period, out);
    sto_loader_close(f.loader);
    sto_decoder_free(f.decoder);
    vs_free(f.events);
    vs_free(f.parts);
    return st;
}
