/*
 * replay/trace/marks.c - see marks.h.
 *
 * Must not know:  SQL, drawing.
 * Invariant:      `pending` has, in order, each change of a mark that is not in the file.
 */
#include "replay/trace/marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "replay/trace/trace_internal.h"
#include "store/marks.h"

/* A mark that owns its texts. */
struct own_mark {
    struct rpl_mark mark;
    char *key;
    char *note;
};

/* A breakpoint that owns its text. */
struct own_break {
    struct rpl_stored_break row;
    char *condition;
};

/* A change of a mark; note NULL: it was removed. */
struct change {
    char *key;
    uint64_t seq;
    char *note;
};

/*
 * reader     of a trace in a file; NULL: nothing is stored
 * pending    changes of marks, of which nothing is in the file; has_breaks: breakpoints, too
 * is_changed there is something that rpl_marks_store has not tried to write
 */
struct rpl_marks {
    struct sto_reader *reader;
    struct own_mark *items;
    size_t count;
    size_t cap;
    struct own_break *breaks;
    size_t break_count;
    size_t break_cap;
    struct change *pending;
    size_t pending_count;
    size_t pending_cap;
    bool has_breaks;
    bool is_changed;
};

static int by_seq(const void *a, const void *b)
{
    const struct rpl_mark *x = &((const struct own_mark *)a)->mark;
    const struct rpl_mark *y = &((const struct own_mark *)b)->mark;

    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return strcmp(x->key, y->key);
}

static size_t find(const struct rpl_marks *marks, const char *key)
{
    for (size_t i = 0; i < marks->count; i++)
        if (strcmp(marks->items[i].key, key) == 0)
            return i;
    return SIZE_MAX;
}

static void forget(struct rpl_marks *marks, size_t i)
{
    vs_free(marks->items[i].key);
    vs_free(marks->items[i].note);
    memmove(&marks->items[i], &marks->items[i + 1], (marks->count - i - 1) * sizeof(*marks->items));
    marks->count--;
}

static void keep(void *user, const char *key, uint64_t seq, const char *note)
{
    struct rpl_marks *marks = user;
    struct own_mark *own;

    marks->items = vs_grow(marks->items, marks->count, &marks->cap, sizeof(*marks->items));
    own = &marks->items[marks->count++];
    own->key = vs_strdup(key);
    own->note = vs_strdup(note);
    own->mark = (struct rpl_mark){.key = own->key, .seq = seq, .note = own->note};
}

static void break_keep(struct rpl_marks *marks, bool is_watch, bool is_on, const char *condition)
{
    struct own_break *own;

    marks->breaks =
        vs_grow(marks->breaks, marks->break_count, &marks->break_cap, sizeof(*marks->breaks));
    own = &marks->breaks[marks->break_count++];
    own->condition = vs_strdup(condition);
    own->row = (struct rpl_stored_break){is_watch, is_on, own->condition};
}

static void break_read(void *user, const struct sto_breakpoint *row)
{
    break_keep(user, row->is_watch, row->is_on, row->condition);
}

static void breaks_forget(struct rpl_marks *marks)
{
    while (marks->break_count)
        vs_free(marks->breaks[--marks->break_count].condition);
}

/* note NULL: it was removed. */
static void pending_add(struct rpl_marks *marks, const char *key, uint64_t seq, const char *note)
{
    if (!marks->reader)
        return;
    marks->pending =
        vs_grow(marks->pending, marks->pending_count, &marks->pending_cap, sizeof(*marks->pending));
    marks->pending[marks->pending_count++] =
        (struct change){vs_strdup(key), seq, note ? vs_strdup(note) : NULL};
    marks->is_changed = true;
}

/* The first `count` are in the file, or nobody needs them any more. */
static void pending_forget(struct rpl_marks *marks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        vs_free(marks->pending[i].key);
        vs_free(marks->pending[i].note);
    }
    marks->pending_count -= count;
    if (count)
        memmove(marks->pending, marks->pending + count,
                marks->pending_count * sizeof(*marks->pending));
}

static void sort(struct rpl_marks *marks)
{
    if (marks->count)
        qsort(marks->items, marks->count, sizeof(*marks->items), by_seq);
}

enum vs_status rpl_marks_open(struct rpl_trace *trace, struct rpl_marks **out, struct vs_error *err)
{
    struct rpl_marks *marks = vs_calloc(1, sizeof(*marks));
    enum vs_status st = VS_OK;

    *out = NULL;
    /* Marks of a file with several devices are not stored: event numbers in the file are those of all devices. */
    marks->reader = rpl_trace_device_count(trace) ? NULL : rpl_trace_reader(trace);
    if (marks->reader)
        st = sto_marks_each(marks->reader, keep, marks, err);
    if (!st && marks->reader)
        st = sto_breakpoints_each(marks->reader, break_read, marks, err);
    if (st) {
        rpl_marks_free(marks);
        return st;
    }
    sort(marks);
    *out = marks;
    return VS_OK;
}

void rpl_marks_free(struct rpl_marks *marks)
{
    if (!marks)
        return;
    while (marks->count)
        forget(marks, marks->count - 1);
    breaks_forget(marks);
    pending_forget(marks, marks->pending_count);
    vs_free(marks->pending);
    vs_free(marks->breaks);
    vs_free(marks->items);
    vs_free(marks);
}

size_t rpl_marks_count(const struct rpl_marks *marks)
{
    return marks->count;
}

const struct rpl_mark *rpl_marks_at(const struct rpl_marks *marks, size_t i)
{
    VS_ASSERT(i < marks->count);
    return &marks->items[i].mark;
}

const struct rpl_mark *rpl_marks_get(const struct rpl_marks *marks, const char *key)
{
    size_t i = find(marks, key);

    return i == SIZE_MAX ? NULL : &marks->items[i].mark;
}

void rpl_marks_set(struct rpl_marks *marks, const char *key, uint64_t seq, const char *note)
{
    /* `key` and `note` may belong to the mark that is replaced. */
    char *own_note = vs_strdup(note);
    char *own_key = vs_strdup(key);
    size_t i = find(marks, own_key);

    if (i != SIZE_MAX)
        forget(marks, i);
    keep(marks, own_key, seq, own_note);
    sort(marks);
    pending_add(marks, own_key, seq, own_note);
    vs_free(own_note);
    vs_free(own_key);
}

void rpl_marks_remove(struct rpl_marks *marks, const char *key)
{
    size_t i = find(marks, key);

    if (i == SIZE_MAX)
        return;
    pending_add(marks, key, 0, NULL);
    forget(marks, i);
}

/* ---- breakpoints ---- */

size_t rpl_marks_break_count(const struct rpl_marks *marks)
{
    return marks->break_count;
}

const struct rpl_stored_break *rpl_marks_break_at(const struct rpl_marks *marks, size_t i)
{
    VS_ASSERT(i < marks->break_count);
    return &marks->breaks[i].row;
}

static bool breaks_are_same(const struct rpl_marks *marks, const struct rpl_stored_break *all,
                            size_t count)
{
    if (count != marks->break_count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct rpl_stored_break *now = &marks->breaks[i].row;

        if (all[i].is_watch != now->is_watch || all[i].is_on != now->is_on ||
            strcmp(all[i].condition, now->condition) != 0)
            return false;
    }
    return true;
}

void rpl_marks_breaks_set(struct rpl_marks *marks, const struct rpl_stored_break *all, size_t count)
{
    if (breaks_are_same(marks, all, count))
        return;
    breaks_forget(marks);
    for (size_t i = 0; i < count; i++)
        break_keep(marks, all[i].is_watch, all[i].is_on, all[i].condition);
    marks->has_breaks = marks->is_changed = marks->reader != NULL;
}

/* ---- the file ---- */

bool rpl_marks_is_changed(const struct rpl_marks *marks)
{
    return marks->is_changed;
}

static enum vs_status breaks_store(struct rpl_marks *marks, struct vs_error *err)
{
    struct sto_breakpoint *rows = vs_calloc(marks->break_count + 1, sizeof(*rows));
    enum vs_status st;

    for (size_t i = 0; i < marks->break_count; i++) {
        const struct rpl_stored_break *b = &marks->breaks[i].row;

        rows[i] = (struct sto_breakpoint){b->is_watch, b->is_on, b->condition};
    }
    st = sto_breakpoints_set(sto_reader_path(marks->reader), rows, marks->break_count, err);
    marks->has_breaks = st != VS_OK;
    vs_free(rows);
    return st;
}

enum vs_status rpl_marks_store(struct rpl_marks *marks, struct vs_error *err)
{
    enum vs_status st = VS_OK;
    size_t stored = 0;

    marks->is_changed = false;
    while (!st && stored < marks->pending_count) {
        const struct change *change = &marks->pending[stored];

        st = sto_mark_set(sto_reader_path(marks->reader), change->key, change->seq, change->note,
                          err);
        stored += st == VS_OK;
    }
    pending_forget(marks, stored);
    return !st && marks->has_breaks ? breaks_store(marks, err) : st;
}
