/*
 * replay/inspect/held_until.c - see held_until.h.
 *
 * Must not know:  the other run.
 * Invariant:      as held_until.h says.
 */
#include "replay/inspect/held_until.h"

#include <inttypes.h>

#include "replay/index/lifetimes.h"
#include "replay/inspect/alive.h"
#include "replay/inspect/block_text.h"

/* Events between the last release of a block and its free, at most. */
#define RELEASE_EVENTS 16
/* Between the new value of a name, and the release of the one before. */
#define BOUND_EVENTS 4

/* The event that released the block last, before it was freed. *at: its number. False: there is none nearby. */
static bool release_find(struct rpl_index *index, const struct rpl_lifetime *life, uint64_t *at,
                         struct vs_event *out)
{
    struct vs_error ignored = VS_ERROR_INIT;

    for (uint64_t seq = life->free_seq; seq > 1 && life->free_seq - seq < RELEASE_EVENTS &&
                                        rpl_index_event(index, --seq, out, &ignored) == VS_OK;)
        if ((out->kind == VS_EV_DROP || out->kind == VS_EV_UNSAVE) &&
            vs_event_block(out) == life->id) {
            *at = seq;
            return true;
        }
    return false;
}

/* Whether the name that released a block at event `seq` had just got another value. */
static bool is_bound_again(struct rpl_index *index, uint64_t seq, const struct vs_event *drop)
{
    struct vs_error ignored = VS_ERROR_INIT;
    struct vs_event event;

    for (uint64_t at = seq; at > 1 && seq - at < BOUND_EVENTS;)
        if (rpl_index_event(index, --at, &event, &ignored) == VS_OK && event.kind == VS_EV_HOLD &&
            event.hold.name == drop->hold.name && event.hold.scope == drop->hold.scope)
            return true;
    return false;
}

static void add_line(const struct rpl_trace *trace, const char *word, uint32_t location,
                     struct vs_text *out)
{
    uint32_t line = rpl_trace_location(trace, location)->line;

    if (line)
        vs_text_addf(out, " %s line %" PRIu32, word, line);
}

/* "`x` is bound again on line 18" */
static void add_release(struct rpl_index *index, const struct rpl_lifetime *life,
                        struct vs_text *out)
{
    const struct rpl_trace *trace = rpl_index_trace(index);
    struct vs_event event;
    const char *name;
    const char *scope;
    uint64_t seq;

    if (!release_find(index, life, &seq, &event)) {
        vs_text_addf(out, "freed at event %" PRIu64, life->free_seq);
        return;
    }
    if (event.kind == VS_EV_UNSAVE) {
        vs_text_add(out, "autograd releases it");
        add_line(trace, "in the backward of", event.location, out);
        return;
    }
    name = rpl_trace_string(trace, (uint32_t)event.hold.name);
    /* a local variable is known by its name, an attribute or item by its owner, too */
    scope = event.hold.holder == VS_HOLD_LOCAL
                ? ""
                : rpl_trace_string(trace, (uint32_t)event.hold.scope);
    vs_text_addf(out, "`%s`%s%s %s", name, *scope ? " of " : "", scope,
                 is_bound_again(index, seq, &event) ? "is bound again" : "releases it");
    add_line(trace, "on", event.location, out);
}

/* "local `x1` of Net.forward keeps it to line 25" */
static enum vs_status add_holder(struct rpl_index *index, const struct rpl_lifetime *life,
                                 uint64_t at, struct vs_text *out, struct vs_error *err)
{
    struct rpl_trace *trace = rpl_index_trace(index);
    struct rpl_cursor *cursor = rpl_cursor_new(index);
    struct rpl_why why = {.id = life->id};
    enum vs_status st = rpl_cursor_seek(cursor, at, err);

    if (!st)
        st = rpl_alive_why(cursor, &why, err);
    rpl_why_distinct(trace, &why);
    if (!st && why.holder_count) {
        if (why.holders[0].kind == VS_HOLD_LOCAL)
            vs_text_addf(out, "local `%s`", rpl_trace_string(trace, why.holders[0].name));
        else
            rpl_holder_text(trace, &why.holders[0], out);
        if (why.holder_count > 1)
            vs_text_addf(out, " and %zu more", why.holder_count - 1);
        vs_text_addf(out, " %s it", why.holder_count > 1 ? "keep" : "keeps");
        if (why.free_seq)
            add_line(trace, "to", why.free_location, out);
    } else if (!st) {
        vs_text_add(out, "alive there");
    }
    rpl_why_release(&why);
    rpl_cursor_free(cursor);
    return st;
}

enum vs_status rpl_held_until_text(struct rpl_index *index, uint64_t block, uint64_t at,
                                   struct vs_text *out, struct vs_error *err)
{
    struct rpl_lifetime life;
    enum vs_status st = rpl_lifetime_get(index, block, &life, err);

    if (st || rpl_trace_is_imported(rpl_index_trace(index)))
        return st;
    if (life.alloc_seq > at)
        vs_text_addf(out, "allocated later, at event %" PRIu64, life.alloc_seq);
    else if (life.free_seq && life.free_seq <= at)
        add_release(index, &life, out);
    else
        return add_holder(index, &life, at, out, err);
    return VS_OK;
}
