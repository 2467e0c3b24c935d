/*
 * whatif/advise/advise_findings.c - advice that the events of a trace give without a run: leaks, what is kept too long,
 * parameters that nothing reads.
 *
 * Must not know:  toggles, the net language.
 * Invariant:      a gain is the recorded peak minus the highest total of the same events without these bytes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/index/cursor.h"
#include "replay/index/lifetimes.h"
#include "replay/index/unused.h"
#include "replay/inspect/block_text.h"
#include "replay/inspect/leak_owner.h"
#include "replay/report/report.h"
#include "whatif/advise/advise_internal.h"

/* Findings below one part in this many of the peak are left out. */
#define SHARE_MIN 1000
/* Parameters that are named. */
#define NAMES_MAX 3
/* Lines with blocks of earlier steps that are looked at. */
#define CARRIED_MAX 8

static struct wif_finding *finding_add(struct wif_advise *out, enum wif_finding_kind kind,
                                       uint64_t bytes, uint64_t gain)
{
    out->findings =
        vs_grow(out->findings, out->finding_count, &out->finding_cap, sizeof(*out->findings));
    out->findings[out->finding_count] =
        (struct wif_finding){.kind = kind, .bytes = bytes, .gain = gain};
    return &out->findings[out->finding_count++];
}

static void finding_text(struct wif_finding *finding, struct vs_text *text)
{
    vs_text_add(text, "");
    finding->text = vs_text_take(text);
}

/* ---- gains ---- */

/* Bytes by event: all that is allocated, and what is not counted. */
struct totals {
    int64_t *all;
    int64_t *omitted;
    uint64_t events;
};

static void totals_add(struct totals *t, const struct rpl_lifetime *life, uint64_t from)
{
    const int64_t bytes = (int64_t)life->bytes;

    t->all[life->alloc_seq] += bytes;
    if (life->free_seq)
        t->all[life->free_seq] -= bytes;
    if (!from || (life->free_seq && from >= life->free_seq))
        return;
    t->omitted[from > life->alloc_seq ? from : life->alloc_seq] += bytes;
    if (life->free_seq)
        t->omitted[life->free_seq] -= bytes;
}

static uint64_t totals_gain(const struct totals *t)
{
    int64_t now = 0;
    int64_t omitted = 0;
    int64_t highest = 0;
    int64_t without = 0;

    for (uint64_t seq = 1; seq <= t->events; seq++) {
        now += t->all[seq];
        omitted += t->omitted[seq];
        highest = now > highest ? now : highest;
        without = now - omitted > without ? now - omitted : without;
    }
    return (uint64_t)(highest - without);
}

/*
 * By how much the peak falls if each block is not counted from the event on that `from` gives for it; 0: it is counted.
 * Takes 16 bytes of host memory for an event.
 */
typedef uint64_t from_fn(const void *user, const struct rpl_lifetime *life);
static enum vs_status gain_find(struct rpl_index *index, from_fn *from, const void *user,
                                uint64_t *out, struct vs_error *err)
{
    const uint64_t events = rpl_index_event_count(index);
    struct totals t = {vs_calloc(events + 1, sizeof(*t.all)),
                       vs_calloc(events + 1, sizeof(*t.omitted)), events};
    enum vs_status st = VS_OK;

    for (uint64_t id = 1; id <= rpl_lifetime_count(index) && !st; id++) {
        struct rpl_lifetime life;

        st = rpl_lifetime_get(index, id, &life, err);
        if (!st && life.alloc_seq)
            totals_add(&t, &life, from(user, &life));
    }
    if (!st)
        *out = totals_gain(&t);
    vs_free(t.all);
    vs_free(t.omitted);
    return st;
}

/* ---- steps ---- */

/* The index of the training step in which `seq` is; SIZE_MAX: none, or the set-up. */
static size_t step_of(const struct rpl_trace *run, uint64_t seq)
{
    size_t low = 0;
    size_t high = rpl_trace_step_count(run);

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (rpl_trace_step(run, middle).last_seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == rpl_trace_step_count(run) || rpl_trace_step(run, low).first_seq > seq ||
        rpl_trace_step(run, low).step < 0)
        return SIZE_MAX;
    return low;
}

/* Allocation sites whose blocks should end with their step, or the step after it where `is_leak`. */
struct sites {
    const struct rpl_trace *run;
    const struct rpl_unused_site *items;
    size_t count;
    bool is_leak;
};

/* The end of the step of a block of these sites, where it outlives that. */
static uint64_t after_step(const void *user, const struct rpl_lifetime *life)
{
    const struct sites *sites = user;
    const size_t step = step_of(sites->run, life->alloc_seq);
    size_t next = step + sites->is_leak;
    bool is_site = false;

    if (step == SIZE_MAX || next >= rpl_trace_step_count(sites->run))
        return 0;
    for (size_t i = 0; i < sites->count && !is_site; i++)
        is_site = sites->items[i].location == life->location &&
                  sites->items[i].requested == life->requested;
    if (!is_site || (life->free_seq && life->free_seq <= rpl_trace_step(sites->run, next).last_seq))
        return 0;
    return rpl_trace_step(sites->run, step).last_seq;
}

static struct rpl_unused_site *site_add(struct rpl_unused_site *items, size_t *count, size_t *cap,
                                        uint32_t location, uint64_t requested)
{
    for (size_t i = 0; i < *count; i++)
        if (items[i].location == location && items[i].requested == requested)
            return items;
    items = vs_grow(items, *count, cap, sizeof(*items));
    items[(*count)++] = (struct rpl_unused_site){location, requested};
    return items;
}

/* ---- leaks ---- */

static void add_bytes(struct vs_text *out, uint64_t bytes)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_add(out, vs_bytes_text(bytes, buf));
}

/* The allocation sites of all that leaks. The caller frees *out. */
static enum vs_status leak_sites(struct rpl_index *index, const struct rpl_leak *leak,
                                 struct rpl_unused_site **out, size_t *count, struct vs_error *err)
{
    size_t cap = 0;
    enum vs_status st = VS_OK;

    *out = NULL;
    *count = 0;
    for (uint64_t id = 1; id <= rpl_lifetime_count(index) && !st; id++) {
        struct rpl_lifetime life;

        st = rpl_lifetime_get(index, id, &life, err);
        if (!st && life.alloc_seq >= leak->first_seq && life.alloc_seq <= leak->last_seq &&
            (!life.free_seq || life.free_seq > leak->at))
            *out = site_add(*out, count, &cap, life.location, life.requested);
    }
    return st;
}

static enum vs_status leak_add(struct wif_advising *s, struct rpl_index *index,
                               struct vs_error *err)
{
    struct rpl_trace *run = rpl_index_trace(index);
    struct sites sites = {.run = run, .is_leak = true};
    struct rpl_unused_site *items = NULL;
    struct rpl_leak_owner owner = {.is_known = false};
    struct vs_text text = {NULL, 0, 0};
    struct wif_finding *finding;
    struct rpl_leak leak;
    uint64_t gain = 0;
    enum vs_status st = rpl_alive_leak(index, &leak, err);

    if (st || !leak.count)
        return st;
    st = rpl_leak_owner(index, &leak, &owner, err);
    if (!st)
        st = leak_sites(index, &leak, &items, &sites.count, err);
    sites.items = items;
    if (!st)
        st = gain_find(index, after_step, &sites, &gain, err);
    vs_free(items);
    if (st)
        return st;
    finding = finding_add(s->out, WIF_FINDING_LEAK, leak.bytes, gain);
    add_bytes(&text, leak.bytes / leak.steps);
    vs_text_add(&text, " leak in each step");
    if (owner.is_known) {
        finding->line = rpl_trace_location(run, owner.holder.location)->line;
        vs_text_add(&text, ", kept alive by ");
        rpl_holder_text(run, &owner.holder, &text);
        vs_text_add(&text, owner.by_history ? " and the autograd history of its tensor" : "");
    } else {
        finding->line = rpl_trace_location(run, leak.blocks[0].alloc_location)->line;
        vs_text_add(&text, "; the largest is ");
        rpl_block_text(run, &leak.blocks[0], 0, &text);
    }
    finding_text(finding, &text);
    return VS_OK;
}

/* ---- kept too long ---- */

/* Whether an advice releases this holder already: by a line, or a variable of the built-in loop by drop-outputs. */
static bool is_advised(const struct wif_advise *out, const struct rpl_trace *run,
                       const struct rpl_holder *holder)
{
    const char *name = rpl_trace_string(run, holder->name);
    const bool is_loops = strcmp(rpl_trace_string(run, holder->scope), "training loop") == 0;

    for (size_t i = 0; i < out->count && holder->kind == VS_HOLD_LOCAL; i++) {
        if (is_loops && vs_toggles_is_set(&out->items[i].set, VS_TOGGLE_DROP_OUTPUTS) &&
            (strcmp(name, "output") == 0 || strcmp(name, "l") == 0))
            return true;
        for (size_t k = 0; k < out->items[i].edits.count; k++) {
            const char *text = out->items[i].edits.items[k].text;

            text += strspn(text, " \t");
            if (strncmp(text, "del ", 4) == 0 && strcmp(text + 4, name) == 0)
                return true;
        }
    }
    return false;
}

static enum vs_status kept_add(struct wif_advising *s, struct rpl_cursor *cursor,
                               const struct rpl_kept *kept, struct vs_error *err)
{
    const struct rpl_trace *run = rpl_index_trace(rpl_cursor_index(cursor));
    struct rpl_why why = {.id = kept->block.id};
    struct vs_text text = {NULL, 0, 0};
    enum vs_status st = rpl_alive_why(cursor, &why, err);
    size_t advised = 0;

    rpl_why_distinct(run, &why);
    for (size_t i = 0; i < why.holder_count; i++)
        advised += is_advised(s->out, run, &why.holders[i]);
    if (!st && (!advised || advised < why.holder_count)) {
        struct wif_finding *finding =
            finding_add(s->out, WIF_FINDING_KEPT, kept->block.bytes, kept->gain);

        finding->line = rpl_trace_location(run, kept->block.alloc_location)->line;
        rpl_shape_text(run, kept->block.tensor, &text);
        vs_text_add(&text, text.len ? " " : "");
        rpl_why_text(run, &why, &text);
        vs_text_add(&text, " is not read again");
        for (size_t i = 0; i < why.holder_count && i < NAMES_MAX; i++) {
            vs_text_add(&text, i ? ", " : "; it is held by ");
            rpl_holder_text(run, &why.holders[i], &text);
        }
        finding_text(finding, &text);
    }
    rpl_why_release(&why);
    return st;
}

static enum vs_status unused_add(struct wif_advising *s, struct rpl_cursor *cursor, uint64_t least,
                                 struct vs_error *err)
{
    struct rpl_kept_list *kept = vs_calloc(1, sizeof(*kept));
    enum vs_status st = rpl_alive_kept(cursor, kept, err);

    for (size_t i = 0; i < kept->count && !st; i++)
        if (kept->items[i].gain >= least)
            st = kept_add(s, cursor, &kept->items[i], err);
    vs_free(kept);
    return st;
}

static int by_bytes(const void *a, const void *b)
{
    return rpl_block_by_bytes(*(const struct rpl_block *const *)a,
                              *(const struct rpl_block *const *)b);
}

/* The blocks that training steps before that of the cursor allocated, the largest first. The caller frees *out. */
static size_t carried_find(const struct rpl_cursor *cursor, uint64_t least,
                           const struct rpl_block ***out)
{
    const struct rpl_trace *run = rpl_index_trace(rpl_cursor_index(cursor));
    const struct rpl_live *live = rpl_cursor_live(cursor);
    const size_t now = step_of(run, rpl_cursor_seq(cursor));
    size_t count = 0;

    *out = vs_alloc((live->block_count + 1) * sizeof(const struct rpl_block *));
    for (size_t i = 0; i < live->block_count && now != SIZE_MAX; i++) {
        const struct rpl_block *block = &live->blocks[i];

        if (step_of(run, block->alloc_seq) < now && !rpl_block_is_permanent(block) &&
            block->category != VS_CAT_GRADIENT && block->bytes >= least)
            (*out)[count++] = block;
    }
    qsort(*out, count, sizeof(const struct rpl_block *), by_bytes);
    return count;
}

/* Whether two blocks were allocated on the same line of the program. */
static bool is_of_line(const struct rpl_trace *run, const struct rpl_block *a,
                       const struct rpl_block *b)
{
    const struct vs_location *x = rpl_trace_location(run, a->alloc_location);
    const struct vs_location *y = rpl_trace_location(run, b->alloc_location);

    return x->line == y->line && x->func == y->func;
}

/* Blocks of one line; first: the largest of them. sites: theirs, heap memory. */
struct line_blocks {
    const struct rpl_block *first;
    uint64_t bytes;
    size_t count;
    struct rpl_unused_site *sites;
    size_t site_count, site_cap;
};

static void line_blocks_fill(struct line_blocks *line, const struct rpl_trace *run,
                             const struct rpl_block *const *blocks, size_t count)
{
    line->first = blocks[0];
    for (size_t i = 0; i < count; i++) {
        if (!is_of_line(run, blocks[i], line->first))
            continue;
        line->bytes += blocks[i]->bytes;
        line->count++;
        line->sites = site_add(line->sites, &line->site_count, &line->site_cap,
                               blocks[i]->alloc_location, blocks[i]->requested);
    }
}

/* now: the step of the peak. */
static void line_text(const struct rpl_trace *run, const struct line_blocks *line, int64_t now,
                      struct vs_text *out)
{
    if (line->count > 1)
        vs_text_addf(out, "%zu tensors of a line, the largest ", line->count);
    rpl_block_text(run, line->first, 0, out);
    if (line->count > 1)
        vs_text_addf(out, ", are of earlier steps and still alive in step %" PRId64, now);
    else
        vs_text_addf(out, " is of step %" PRId64 " and still alive in step %" PRId64,
                     rpl_trace_step(run, step_of(run, line->first->alloc_seq)).step, now);
}

/* Has a block of the same line been looked at, or is it one that leaks? */
static bool is_known(const struct rpl_trace *run, const struct rpl_block *const *blocks, size_t i,
                     const struct rpl_unused_site *leaks, size_t leak_count)
{
    for (size_t k = 0; k < leak_count; k++)
        if (leaks[k].location == blocks[i]->alloc_location &&
            leaks[k].requested == blocks[i]->requested)
            return true;
    for (size_t k = 0; k < i; k++)
        if (is_of_line(run, blocks[k], blocks[i]))
            return true;
    return false;
}

/* Of a recording without reads: what earlier steps allocated, is alive at the peak, and does not leak; by line. */
static enum vs_status carried_add(struct wif_advising *s, struct rpl_cursor *cursor, uint64_t least,
                                  struct vs_error *err)
{
    struct rpl_index *index = rpl_cursor_index(cursor);
    const struct rpl_trace *run = rpl_index_trace(index);
    const struct rpl_block **blocks;
    const size_t count = carried_find(cursor, least, &blocks);
    struct rpl_unused_site *leaks = NULL;
    struct rpl_leak leak;
    size_t leak_count = 0;
    size_t tried = 0;
    enum vs_status st = rpl_alive_leak(index, &leak, err);

    if (!st && leak.count)
        st = leak_sites(index, &leak, &leaks, &leak_count, err);
    for (size_t i = 0; i < count && tried < CARRIED_MAX && !st; i++) {
        struct line_blocks line = {.sites = NULL};
        struct vs_text text = {NULL, 0, 0};
        struct wif_finding *finding;
        uint64_t gain = 0;

        if (is_known(run, blocks, i, leaks, leak_count))
            continue;
        tried++;
        line_blocks_fill(&line, run, blocks + i, count - i);
        st = gain_find(index, after_step,
                       &(const struct sites){run, line.sites, line.site_count, false}, &gain, err);
        if (!st && gain >= least) {
            finding = finding_add(s->out, WIF_FINDING_KEPT, line.bytes, gain);
            finding->line = rpl_trace_location(run, line.first->alloc_location)->line;
            line_text(run, &line, rpl_trace_step(run, step_of(run, rpl_cursor_seq(cursor))).step,
                      &text);
            finding_text(finding, &text);
        }
        vs_free(line.sites);
    }
    vs_free(leaks);
    vs_free(blocks);
    return st;
}

/* ---- parameters that nothing reads ---- */

/* The first event of the first training step; 0: there is none. */
static uint64_t training_begin(const struct rpl_trace *run)
{
    for (size_t i = 0; i < rpl_trace_step_count(run); i++)
        if (rpl_trace_step(run, i).step >= 0)
            return rpl_trace_step(run, i).first_seq;
    return 0;
}

/* ids: sorted numbers of blocks */
struct unread {
    const uint64_t *ids;
    size_t count;
};

static uint64_t from_begin(const void *user, const struct rpl_lifetime *life)
{
    const struct unread *unread = user;

    for (size_t i = 0; i < unread->count; i++)
        if (unread->ids[i] == life->id)
            return life->alloc_seq;
    return 0;
}

static enum vs_status unread_add(struct wif_advising *s, struct rpl_cursor *cursor,
                                 struct vs_error *err)
{
    struct rpl_index *index = rpl_cursor_index(cursor);
    const struct rpl_trace *run = rpl_index_trace(index);
    const struct rpl_live *live = rpl_cursor_live(cursor);
    const uint64_t begin = training_begin(run);
    uint64_t *ids = vs_alloc((live->block_count + 1) * sizeof(*ids));
    struct unread unread = {.ids = ids};
    struct vs_text text = {NULL, 0, 0};
    uint64_t bytes = 0;
    uint64_t gain = 0;
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < live->block_count && begin && !st; i++) {
        const struct rpl_block *block = &live->blocks[i];
        struct rpl_lifetime life;

        if (block->category != VS_CAT_PARAMETER)
            continue;
        st = rpl_lifetime_get(index, block->id, &life, err);
        if (st || life.last_use_seq >= begin || !life.name)
            continue;
        if (unread.count < NAMES_MAX)
            vs_text_addf(&text, "%s%s", unread.count ? ", " : "", rpl_trace_string(run, life.name));
        ids[unread.count++] = block->id;
        bytes += block->bytes;
    }
    if (!st && unread.count)
        st = gain_find(index, from_begin, &unread, &gain, err);
    if (!st && unread.count) {
        if (unread.count > NAMES_MAX)
            vs_text_addf(&text, " and %zu more", unread.count - NAMES_MAX);
        vs_text_addf(&text, ": no step reads %s",
                     unread.count == 1 ? "this parameter" : "these parameters");
        finding_text(finding_add(s->out, WIF_FINDING_UNREAD, bytes, gain), &text);
    }
    vs_text_release(&text);
    vs_free(ids);
    return st;
}

/* ---- all of them ---- */

enum vs_status wif_advising_findings(struct wif_advising *s, struct rpl_trace *run,
                                     struct vs_error *err)
{
    struct rpl_index *index = NULL;
    struct rpl_cursor *cursor = NULL;
    struct rpl_top top;
    enum vs_status st = rpl_index_open(run, NULL, NULL, &index, err);

    if (st)
        return st;
    top = rpl_index_top(index);
    cursor = rpl_cursor_new(index);
    if (top.event)
        st = leak_add(s, index, err);
    if (!st && top.event)
        st = rpl_cursor_seek(cursor, top.event, err);
    if (!st && top.event && rpl_trace_is_imported(run))
        st = carried_add(s, cursor, top.allocated / SHARE_MIN, err);
    else if (!st && top.event)
        st = unused_add(s, cursor, top.allocated / SHARE_MIN + 1, err);
    if (!st && top.event && !rpl_trace_is_imported(run))
        st = unread_add(s, cursor, err);
    rpl_cursor_free(cursor);
    rpl_index_free(index);
    return st;
}
