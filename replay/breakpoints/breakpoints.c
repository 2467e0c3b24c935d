/*
 * replay/breakpoints/breakpoints.c - see breakpoints.h.
 *
 * Must not know:  command lines, cursors; the language of conditions is in breakpoints_parse.c.
 * Invariant:      hits are reported in ascending order of the numbers of their breakpoints.
 */
#include "replay/breakpoints/breakpoints.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "replay/breakpoints/breakpoints_internal.h"
#include "replay/index/lifetimes.h"

struct rpl_breakpoints {
    struct rpl_index *index;
    struct rpl_entry **entries;
    size_t count;
    size_t cap;
    uint32_t last_number;
};

struct rpl_breakpoints *rpl_breakpoints_new(struct rpl_index *index)
{
    struct rpl_breakpoints *set = vs_calloc(1, sizeof(*set));

    set->index = index;
    return set;
}

static void entry_free(struct rpl_entry *entry)
{
    rpl_condition_release(&entry->condition);
    vs_free(entry->text);
    vs_free(entry->glob);
    vs_free(entry->locations);
    vs_free(entry->names);
    vs_free(entry);
}

void rpl_breakpoints_free(struct rpl_breakpoints *set)
{
    if (!set)
        return;
    for (size_t i = 0; i < set->count; i++)
        entry_free(set->entries[i]);
    vs_free(set->entries);
    vs_free(set);
}

static bool is_location_term(const struct rpl_term *term)
{
    return term->field <= RPL_TERM_LINE;
}

static enum vs_status entry_add(struct rpl_breakpoints *set, struct rpl_entry *entry,
                                const char *text, uint32_t *number)
{
    entry->text = vs_strdup(text + strspn(text, " \t"));
    entry->shown.number = *number = ++set->last_number;
    entry->shown.text = entry->text;
    entry->shown.is_watch = entry->glob != NULL;
    entry->shown.is_on = true;
    for (size_t i = 0; i < entry->condition.count; i++)
        entry->has_locations |= is_location_term(&entry->condition.terms[i]);
    set->entries = vs_grow(set->entries, set->count, &set->cap, sizeof(struct rpl_entry *));
    set->entries[set->count++] = entry;
    return VS_OK;
}

enum vs_status rpl_breakpoints_add(struct rpl_breakpoints *set, const char *condition,
                                   uint32_t *number, struct vs_error *err)
{
    struct rpl_entry *entry = vs_calloc(1, sizeof(*entry));
    enum vs_status st = rpl_condition_parse(&entry->condition, condition, err);

    if (!st)
        return entry_add(set, entry, condition, number);
    entry_free(entry);
    return st;
}

enum vs_status rpl_breakpoints_watch(struct rpl_breakpoints *set, const char *what,
                                     uint32_t *number, struct vs_error *err)
{
    const char *at = what + strspn(what, " \t");
    size_t len = strcspn(at, " \t");
    struct rpl_entry *entry;
    const char *end;

    if (len == strlen("tensor") && strncasecmp(at, "tensor", len) == 0) {
        at += len;
        at += strspn(at, " \t");
    }
    end = at + strlen(at);
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    if (end - at >= 2 && (*at == '"' || *at == '\'') && end[-1] == *at) {
        at++;
        end--;
    } else if (at + strcspn(at, " \t") < end)
        return vs_fail(err, VS_E_SYNTAX,
                       "column %zu: a tensor's name is one word, such as fc.weight or "
                       "layers.11.attn.softmax",
                       (size_t)(at - what) + strcspn(at, " \t") + 1);
    if (at == end)
        return vs_fail(err, VS_E_SYNTAX,
                       "column %zu: the name of a tensor is missing, such as fc.weight or "
                       "layers.11.attn.softmax",
                       strlen(what) + 1);
    entry = vs_calloc(1, sizeof(*entry));
    entry->glob = vs_strndup(at, (size_t)(end - at));
    entry->condition.kinds = RPL_WATCH_KINDS;
    entry->condition.is_event = true;
    return entry_add(set, entry, what, number);
}

size_t rpl_breakpoints_count(const struct rpl_breakpoints *set)
{
    return set->count;
}

const struct rpl_breakpoint *rpl_breakpoints_at(const struct rpl_breakpoints *set, size_t i)
{
    VS_ASSERT(i < set->count);
    return &set->entries[i]->shown;
}

struct rpl_breakpoint *rpl_breakpoints_get(struct rpl_breakpoints *set, uint32_t number)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->entries[i]->shown.number == number)
            return &set->entries[i]->shown;
    return NULL;
}

bool rpl_breakpoints_remove(struct rpl_breakpoints *set, uint32_t number)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->entries[i]->shown.number != number)
            continue;
        entry_free(set->entries[i]);
        memmove(&set->entries[i], &set->entries[i + 1],
                (set->count - i - 1) * sizeof(struct rpl_entry *));
        set->count--;
        return true;
    }
    return false;
}

/* ---- runs ---- */

enum vs_status rpl_breakpoints_can_hit(struct rpl_breakpoints *set, uint32_t number, bool *out,
                                       struct vs_error *err)
{
    size_t i = 0;
    struct rpl_entry *entry;
    enum vs_status st;

    while (i < set->count && set->entries[i]->shown.number != number)
        i++;
    VS_ASSERT(i < set->count);
    entry = set->entries[i];
    rpl_entry_update(entry, set->index->trace);
    st = rpl_entry_range(entry, set->index, err);
    *out = !st && entry->last_seq >= entry->first_seq;
    return st;
}

/*
 * Requested bytes of the block that an event allocates, frees or moves to another category; 0 for all others. An event
 * that changes a category does not contain the size: it is looked up only if a condition compares it.
 */
static enum vs_status block_size(const struct rpl_breakpoints *set, const struct vs_event *event,
                                 uint64_t *out, struct vs_error *err)
{
    struct rpl_lifetime life;
    enum vs_status st;
    bool is_asked = false;

    *out = event->kind == VS_EV_ALLOC  ? event->alloc.requested_bytes
           : event->kind == VS_EV_FREE ? event->free.requested_bytes
                                       : 0;
    for (size_t i = 0; i < set->count; i++)
        is_asked |= set->entries[i]->is_looked_at && set->entries[i]->condition.has_size;
    if (event->kind != VS_EV_CATEGORY || !is_asked)
        return VS_OK;
    st = rpl_lifetime_get(set->index, event->category.block, &life, err);
    if (!st)
        *out = life.requested;
    return st;
}

/* Set *hit to the entries that hit at the event that the walk is right after. */
static enum vs_status event_match(struct rpl_breakpoints *set, const struct rpl_walk *walk,
                                  const struct vs_event *event, uint64_t size, struct rpl_hit *hit,
                                  struct vs_error *err)
{
    hit->seq = 0;
    hit->count = 0;
    for (size_t i = 0; i < set->count; i++) {
        struct rpl_entry *entry = set->entries[i];
        bool is_hit;

        if (!entry->is_looked_at)
            continue;
        if (entry->glob) {
            enum vs_status st = rpl_entry_watch_hits(entry, set->index, event, &is_hit, err);

            if (st)
                return st;
        } else {
            bool holds = rpl_entry_holds(entry, walk, event, size);

            is_hit = holds && (entry->condition.is_event || !entry->holds);
            entry->holds = holds;
        }
        if (!is_hit)
            continue;
        hit->seq = walk->seq;
        if (hit->count < RPL_HIT_MAX)
            hit->numbers[hit->count] = entry->shown.number;
        hit->count++;
    }
    return VS_OK;
}

/* The first hit among events `from` … `to` of a chunk, both included; the last one if backwards. */
static enum vs_status chunk_run(struct rpl_breakpoints *set, size_t chunk, uint64_t from,
                                uint64_t to, bool is_backward, struct rpl_hit *out,
                                struct vs_error *err)
{
    struct rpl_walk walk;
    enum vs_status st;

    rpl_walk_init(&walk, set->index);
    st = rpl_walk_enter(&walk, chunk, err);
    for (size_t i = 0; !st && i < set->count; i++)
        if (!set->entries[i]->glob)
            set->entries[i]->holds = rpl_entry_holds(set->entries[i], &walk, NULL, 0);
    while (!st && walk.seq < to && (is_backward || !out->seq)) {
        const struct vs_event *event = rpl_walk_next(&walk, err);
        struct rpl_hit hit = {.seq = 0};
        uint64_t size;

        if (!event)
            return err->status;
        st = block_size(set, event, &size, err);
        if (!st)
            st = event_match(set, &walk, event, size, &hit, err);
        if (!st && hit.seq && walk.seq >= from)
            *out = hit;
    }
    return st;
}

enum vs_status rpl_breakpoints_run(struct rpl_breakpoints *set, uint64_t seq, bool is_backward,
                                   rpl_progress_fn *progress, void *user, struct rpl_hit *out,
                                   struct vs_error *err)
{
    uint64_t count = set->index->event_count;
    /* Backwards: one past the next event to test. */
    uint64_t at = is_backward ? seq : seq + 1;
    enum vs_status st = VS_OK;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; !st && i < set->count; i++) {
        rpl_entry_update(set->entries[i], set->index->trace);
        st = rpl_entry_range(set->entries[i], set->index, err);
    }
    while (!st && !out->seq && (is_backward ? at > 1 : at <= count)) {
        size_t chunk = rpl_index_chunk_of(is_backward ? at - 1 : at);
        uint64_t first = rpl_index_chunk_first(chunk);
        uint64_t last = first + rpl_index_chunk_events(set->index, chunk) - 1;
        bool may_any = false;

        if (progress &&
            !progress(user, is_backward ? seq - at : at - seq, is_backward ? seq : count - seq))
            return vs_fail(err, VS_E_STOPPED, "stopped while looking for the next hit");
        for (size_t i = 0; !st && i < set->count; i++) {
            struct rpl_entry *entry = set->entries[i];

            entry->is_looked_at = false;
            if (entry->shown.is_on && entry->first_seq <= last && entry->last_seq >= first)
                st = rpl_entry_can_hit(set->index, entry, chunk, &entry->is_looked_at, err);
            may_any |= entry->is_looked_at;
        }
        if (!st && may_any)
            st = is_backward ? chunk_run(set, chunk, first, at - 1, true, out, err)
                             : chunk_run(set, chunk, at, last, false, out, err);
        at = is_backward ? first : last + 1;
    }
    return st;
}
