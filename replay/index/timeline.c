/*
 * replay/index/timeline.c - see timeline.h.
 *
 * Must not know:  drawing.
 * Invariant:      complete pieces are read from the pyramid, the rest from the events; the categories at a maximum
 *                 within the rest come from the state there.
 */
#include "replay/index/timeline.h"

#include <string.h>

#include "base/mem.h"
#include "replay/index/cursor.h"
#include "replay/index/index_internal.h"
#include "replay/index/walk.h"

/* A column of fewer pieces keeps its exact ends, as they would be moved by too large a part of it. */
#define PIECES_TO_SNAP 4

/* A column being computed. has_any: it has an event; has_categories: its by_category is that of its maximum. */
struct making {
    struct rpl_walk walk;
    struct rpl_column *column;
    bool has_any;
    bool has_categories;
};

/* ---- parts of a column ---- */

static void node_add(struct making *m, const struct rpl_node *node)
{
    struct rpl_column *c = m->column;

    if (!m->has_any) {
        c->time_ns = node->time_ns;
        c->step = node->step;
        c->phase = (enum vs_phase)node->phase;
        c->allocated_min = node->allocated_min;
        c->reserved_max = node->reserved_max;
        c->reserved_min = node->reserved_min;
    }
    if (!m->has_any || node->allocated_max > c->allocated_max) {
        c->allocated_max = node->allocated_max;
        c->max_seq = node->max_seq;
        memcpy(c->by_category, node->by_category, sizeof(c->by_category));
        m->has_categories = true;
    }
    if (node->allocated_min < c->allocated_min)
        c->allocated_min = node->allocated_min;
    if (node->reserved_max > c->reserved_max)
        c->reserved_max = node->reserved_max;
    if (node->reserved_min < c->reserved_min)
        c->reserved_min = node->reserved_min;
    m->has_any = true;
}

/* Add the events first … end - 1, one by one. */
static enum vs_status events_add(struct making *m, uint64_t first, uint64_t end,
                                 struct vs_error *err)
{
    struct rpl_column *c = m->column;
    struct rpl_walk *walk = &m->walk;
    enum vs_status st;

    if (first >= end)
        return VS_OK;
    st = rpl_walk_to(walk, first - 1, err);
    if (st)
        return st;
    while (walk->seq + 1 < end) {
        const struct vs_event *event = rpl_walk_next(walk, err);

        if (!event)
            return err->status;
        if (!m->has_any) {
            c->time_ns = event->time_ns;
            c->step = walk->step;
            c->phase = (enum vs_phase)walk->phase;
            c->allocated_min = walk->allocated;
            c->reserved_max = c->reserved_min = walk->reserved;
        }
        if (!m->has_any || walk->allocated > c->allocated_max) {
            c->allocated_max = walk->allocated;
            c->max_seq = walk->seq;
            m->has_categories = false;
        }
        if (walk->allocated < c->allocated_min)
            c->allocated_min = walk->allocated;
        if (walk->reserved > c->reserved_max)
            c->reserved_max = walk->reserved;
        if (walk->reserved < c->reserved_min)
            c->reserved_min = walk->reserved;
        m->has_any = true;
    }
    return VS_OK;
}

/* Add the pieces first … end - 1, as the largest possible nodes. */
static enum vs_status pieces_add(struct making *m, uint64_t first, uint64_t end,
                                 struct vs_error *err)
{
    struct rpl_index *index = m->walk.index;
    enum vs_status st = VS_OK;

    while (!st && first < end) {
        const struct rpl_node *node;
        uint64_t pieces = 1;
        size_t level = 0;

        while (level + 1 < RPL_LEVEL_COUNT && first % (pieces * RPL_FAN) == 0 &&
               first + pieces * RPL_FAN <= end) {
            pieces *= RPL_FAN;
            level++;
        }
        st = rpl_index_node(index, level, (size_t)(first / pieces), &node, err);
        if (!st)
            node_add(m, node);
        first += pieces;
    }
    return st;
}

/* Compute the column of events first … end - 1; it may have none. */
static enum vs_status column_fill(struct making *m, uint64_t first, uint64_t end,
                                  struct vs_error *err)
{
    uint64_t count = m->walk.index->event_count;
    uint64_t piece = (first - 1 + RPL_PIECE_EVENTS - 1) / RPL_PIECE_EVENTS;
    uint64_t piece_end = end - 1 == count ? (count + RPL_PIECE_EVENTS - 1) / RPL_PIECE_EVENTS
                                          : (end - 1) / RPL_PIECE_EVENTS;
    enum vs_status st;

    memset(m->column, 0, sizeof(*m->column));
    m->column->first_seq = first;
    m->column->last_seq = m->column->max_seq = end - 1;
    m->has_any = m->has_categories = false;
    if (piece >= piece_end)
        return events_add(m, first, end, err);
    st = events_add(m, first, piece * RPL_PIECE_EVENTS + 1, err);
    if (!st)
        st = pieces_add(m, piece, piece_end, err);
    if (!st && piece_end * RPL_PIECE_EVENTS < end - 1)
        st = events_add(m, piece_end * RPL_PIECE_EVENTS + 1, end, err);
    return st;
}

/* A column without events has the figures right after the event before it. */
static enum vs_status empty_fill(struct making *m, struct vs_error *err)
{
    struct rpl_column *c = m->column;
    enum vs_status st = rpl_walk_to(&m->walk, c->last_seq, err);

    c->allocated_max = c->allocated_min = m->walk.allocated;
    c->reserved_max = c->reserved_min = m->walk.reserved;
    c->step = m->walk.step;
    c->phase = (enum vs_phase)m->walk.phase;
    return st;
}

/* ---- columns ---- */

static enum vs_status categories_fill(struct rpl_index *index, struct rpl_column *column,
                                      struct vs_error *err)
{
    enum vs_status st;

    if (!index->scan)
        index->scan = rpl_cursor_new(index);
    st = rpl_cursor_seek(index->scan, column->max_seq, err);
    if (!st)
        memcpy(column->by_category, rpl_cursor_live(index->scan)->by_category,
               sizeof(column->by_category));
    return st;
}

/* ends[i] is one past the last event of column i; the first column begins at `first`. */
static enum vs_status columns_fill(struct rpl_index *index, uint64_t first, const uint64_t *ends,
                                   struct rpl_column *columns, size_t count, struct vs_error *err)
{
    bool *has_categories = vs_calloc(count, sizeof(*has_categories));
    struct making m;
    enum vs_status st = VS_OK;

    rpl_walk_init(&m.walk, index);
    for (size_t i = 0; !st && i < count; i++) {
        m.column = &columns[i];
        st = column_fill(&m, i ? ends[i - 1] : first, ends[i], err);
        if (!st && !m.has_any)
            st = empty_fill(&m, err);
        has_categories[i] = m.has_categories;
    }
    for (size_t i = 0; !st && i < count; i++)
        if (!has_categories[i])
            st = categories_fill(index, &columns[i], err);
    vs_free(has_categories);
    return st;
}

/* The level to whose nodes the ends of columns of `events` events are moved; SIZE_MAX: they are not moved. */
static size_t snap_level(uint64_t events)
{
    uint64_t size = RPL_PIECE_EVENTS;
    size_t level = 0;

    if (events < size * PIECES_TO_SNAP)
        return SIZE_MAX;
    while (level + 1 < RPL_LEVEL_COUNT && events >= size * RPL_FAN * PIECES_TO_SNAP) {
        size *= RPL_FAN;
        level++;
    }
    return level;
}

static uint64_t level_events(size_t level)
{
    uint64_t size = RPL_PIECE_EVENTS;

    while (level--)
        size *= RPL_FAN;
    return size;
}

enum vs_status rpl_timeline_columns(struct rpl_index *index, uint64_t first, uint64_t last,
                                    struct rpl_column *columns, size_t count, struct vs_error *err)
{
    uint64_t events = last - first + 1;
    size_t level = snap_level(events / count);
    uint64_t size = level == SIZE_MAX ? 1 : level_events(level);
    uint64_t *ends;
    enum vs_status st;

    VS_ASSERT(count >= 1 && first >= 1 && first <= last && last <= index->event_count);
    ends = vs_alloc(count * sizeof(*ends));
    for (size_t i = 0; i < count; i++) {
        uint64_t end = first + events / count * (i + 1) + events % count * (i + 1) / count;

        if (i + 1 < count && size > 1)
            end = (end - 1 + size / 2) / size * size + 1;
        ends[i] = end;
    }
    st = columns_fill(index, first, ends, columns, count, err);
    vs_free(ends);
    return st;
}

enum vs_status rpl_timeline_range(struct rpl_index *index, uint64_t first, uint64_t last,
                                  struct rpl_column *out, struct vs_error *err)
{
    uint64_t end = last + 1;

    VS_ASSERT(first >= 1 && first <= last && last <= index->event_count);
    return columns_fill(index, first, &end, out, 1, err);
}

/* ---- time ---- */

/*
 * The last node of `level` whose first event was before `time_ns`; 0 if there is none. Descends from the top level, so
 * that few nodes are read.
 */
static enum vs_status node_before(struct rpl_index *index, size_t level, uint64_t time_ns,
                                  size_t *out, struct vs_error *err)
{
    size_t top = level;
    size_t at = 0;

    while (top + 1 < RPL_LEVEL_COUNT && index->levels[top + 1].count)
        top++;
    for (size_t l = top + 1; l-- > level;) {
        size_t end = l == top ? index->levels[l].count : at * RPL_FAN + RPL_FAN;

        at = l == top ? 0 : at * RPL_FAN;
        while (at + 1 < end && at + 1 < index->levels[l].count) {
            const struct rpl_node *node;
            enum vs_status st = rpl_index_node(index, l, at + 1, &node, err);

            if (st)
                return st;
            if (node->time_ns >= time_ns)
                break;
            at++;
        }
    }
    *out = at;
    return VS_OK;
}

/* The first event at `time_ns` or later; count + 1: there is none. */
static enum vs_status first_at(struct rpl_index *index, uint64_t time_ns, uint64_t *seq,
                               struct vs_error *err)
{
    size_t piece;
    enum vs_status st = node_before(index, 0, time_ns, &piece, err);

    *seq = (uint64_t)piece * RPL_PIECE_EVENTS + 1;
    while (!st && *seq <= index->event_count) {
        struct vs_event event;

        st = rpl_index_event(index, *seq, &event, err);
        if (!st && event.time_ns >= time_ns)
            break;
        ++*seq;
    }
    return st;
}

enum vs_status rpl_timeline_columns_by_time(struct rpl_index *index, uint64_t from_ns,
                                            uint64_t to_ns, struct rpl_column *columns,
                                            size_t count, struct vs_error *err)
{
    uint64_t width = (to_ns - from_ns) / count;
    uint64_t rest = (to_ns - from_ns) % count;
    uint64_t *ends;
    uint64_t first = 1;
    uint64_t last = 0;
    size_t level;
    enum vs_status st;

    VS_ASSERT(count >= 1 && from_ns < to_ns && index->event_count);
    st = first_at(index, from_ns, &first, err);
    if (!st)
        st = first_at(index, to_ns, &last, err);
    if (st)
        return st;
    ends = vs_alloc(count * sizeof(*ends));
    level = snap_level((last - first) / count);
    for (size_t i = 0; !st && i < count; i++) {
        uint64_t time = from_ns + width * (i + 1) + rest * (i + 1) / count;
        uint64_t before = i ? ends[i - 1] : first;
        size_t node;

        if (i + 1 == count) {
            ends[i] = last;
        } else if (level == SIZE_MAX) {
            st = first_at(index, time, &ends[i], err);
        } else {
            st = node_before(index, level, time, &node, err);
            ends[i] = (uint64_t)(node + 1) * level_events(level) + 1;
        }
        if (ends[i] > last)
            ends[i] = last;
        if (ends[i] < before)
            ends[i] = before;
    }
    if (!st)
        st = columns_fill(index, first, ends, columns, count, err);
    vs_free(ends);
    return st;
}
