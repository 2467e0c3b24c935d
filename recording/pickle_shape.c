/*
 * recording/pickle_shape.c - see pickle_shape.h.
 */
#include "recording/pickle_shape.h"

#include <string.h>

#include "recording/pickle_list.h"
#include "recording/pickle_simple.h"

/* ---- keys ---- */

static inline bool key_is(const unsigned char *b, const struct rec_shape_key *key)
{
    return ((rec_eight(b) ^ key->bytes) & key->mask) == 0;
}

static bool same_keys(const struct rec_shape *a, const struct rec_shape *b)
{
    for (uint32_t i = 0; i < a->count && a->count == b->count; i++)
        if (a->keys[i].bytes != b->keys[i].bytes || a->keys[i].len != b->keys[i].len)
            return false;
    return a->count == b->count;
}

void rec_shape_learn(struct rec_pickle *p, const struct rec_slot *pairs, size_t count)
{
    struct rec_shapes *shapes = p->shapes;
    struct rec_shape shape;

    shape.count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *b = rec_bytes_of(p) + pairs[2 * i].at;
        struct rec_shape_key *key = &shape.keys[i];

        if (!rec_is_get(*b))
            return;
        key->len = *b == OP_BINGET ? 2 : 5;
        key->mask = (UINT64_C(1) << 8 * key->len) - 1;
        key->bytes = rec_eight(b) & key->mask;
        key->number = rec_key_number(p, pairs[2 * i].value);
    }
    for (uint32_t i = 0; i < shapes->count; i++)
        if (same_keys(&shape, &shapes->at[i])) {
            shapes->taken = i;
            return;
        }
    if (shapes->count == REC_SHAPES_MAX)
        return;
    shape.next = shapes->taken = shapes->count;
    shapes->at[shapes->count++] = shape;
}

/* ---- taking ---- */

/* Where a dict that may be taken is, and its machine. */
struct taking {
    struct rec_machine *m;
    struct rec_pickle *p;
    const unsigned char *b;
    const unsigned char *end;
};

static inline bool has_room(const struct taking *t)
{
    return t->end - t->b >= REC_ROOM;
}

/* The opcode here puts v under the number that comes next, or it puts nothing. */
static inline bool put_take(struct taking *t, struct rec_value v)
{
    struct rec_pickle *p = t->p;
    unsigned bytes;

    if (*t->b == OP_MEMOIZE)
        bytes = 1;
    else if (*t->b == OP_BINPUT && t->b[1] == p->memo_count)
        bytes = 2;
    else if (*t->b == OP_LONG_BINPUT && rec_four(t->b + 1) == p->memo_count)
        bytes = 5;
    else
        return *t->b != OP_BINPUT && *t->b != OP_LONG_BINPUT;
    if (!rec_pickle_grow(p, &p->memo, p->memo_count, &p->memo_cap, sizeof(*p->memo)))
        return false;
    p->memo[p->memo_count++] = v;
    p->memo_put++;
    t->b += bytes;
    return true;
}

/* Does another pair begin here, or is it the end of them? Other texts are keys, too, but not of a shape. */
static inline bool is_next(const unsigned char *b)
{
    return rec_is_get(*b) || *b == OP_SETITEMS;
}

/* How long the opcode here is, if it is one that rec_simple_take knows and no text; 0: it is none. */
static inline unsigned simple_len(const struct taking *t)
{
    const unsigned char *b = t->b;

    switch (*b) {
    case OP_BINGET:
        return b[1] < t->p->memo_count ? 2 : 0;
    case OP_LONG_BINGET:
        return rec_four(b + 1) < t->p->memo_count ? 5 : 0;
    case OP_BININT1:
        return 2;
    case OP_BININT2:
        return 3;
    case OP_BININT:
        return 5;
    case OP_LONG1:
        return b[1] >= 1 && b[1] <= 7 ? 2u + b[1] : 0;
    case OP_NONE:
    case OP_NEWTRUE:
    case OP_NEWFALSE:
        return 1;
    default:
        return 0;
    }
}

/* A list of memo numbers, or an empty one. */
static bool list_take(struct taking *t, struct rec_value *out)
{
    size_t bytes;

    if (*t->b != OP_EMPTY_LIST || !rec_pickle_box(t->p, TAG_LIST, out))
        return false;
    t->b++;
    if (!put_take(t, *out) || !has_room(t))
        return false;
    if (*t->b != OP_MARK)
        return true;
    bytes = rec_list_take(t->p, *out, t->p->memo_count, t->b + 1, t->end);
    t->b += bytes + 1;
    return bytes;
}

/* The same two numbers as in the last tuple of two; the first is taken already, and was *out. */
static bool pair_take(struct taking *t, struct rec_value *out)
{
    const struct rec_value first = *out;
    const struct rec_value last = t->m->last_pair;
    struct rec_value second;

    if (!last.bits || TAG_OF(first) != TAG_INT || !rec_simple_take(t->p, &t->b, &second) ||
        TAG_OF(second) != TAG_INT || !has_room(t) || *t->b != OP_TUPLE2 ||
        rec_value_at(t->p, last, 0).bits != first.bits ||
        rec_value_at(t->p, last, 1).bits != second.bits)
        return false;
    t->b++;
    *out = last;
    return put_take(t, last);
}

/* What stands behind a key, where it is no list and more than one opcode follows it or its text is here. *is_nested: it is a tuple. */
static bool long_value_take(struct taking *t, struct rec_value *v, bool *is_nested)
{
    if (!rec_simple_take(t->p, &t->b, v) || !has_room(t) || !put_take(t, *v) || !has_room(t))
        return false;
    *is_nested = !is_next(t->b);
    return !*is_nested || pair_take(t, v);
}

/* What stands behind a key. Behind it comes another key, or the end. */
static inline bool value_take(struct taking *t)
{
    const unsigned char *const start = t->b;
    const uint64_t at = (uint64_t)(start - t->m->bytes);
    bool is_nested = true;
    struct rec_value v;
    unsigned len;

    if (t->end - start < 2 * REC_ROOM)
        return false;
    len = simple_len(t);
    if (len && is_next(start + len)) {
        t->b = start + len;
        return true;
    }
    if (!(*start == OP_EMPTY_LIST ? list_take(t, &v) : long_value_take(t, &v, &is_nested)))
        return false;
    return !is_nested ||
           ((!t->p->nested_count || t->p->nested[t->p->nested_count - 1].at < at) &&
            rec_nested_add(t->p, (struct rec_nested){at, (uint64_t)(t->b - t->m->bytes), v}));
}

/* From the first key on. *is_other: it has other keys. */
static bool pairs_take(struct taking *t, const struct rec_shape *shape, bool *is_other)
{
    *is_other = false;
    for (uint32_t i = 0; i < shape->count; i++) {
        if (!has_room(t))
            return false;
        *is_other = !key_is(t->b, &shape->keys[i]);
        if (*is_other)
            return false;
        t->b += shape->keys[i].len;
        if (!value_take(t))
            return false;
    }
    *is_other = t->b < t->end && *t->b != OP_SETITEMS;
    return t->b < t->end && !*is_other;
}

/* How much there is of what a dict that is not taken after all may have added. */
struct before {
    size_t memo_count, box_count, dict_count, nested_count;
};

static struct before before_get(const struct rec_pickle *p)
{
    return (struct before){p->memo_count, p->box_count, p->dict_count, p->nested_count};
}

static void undo(struct rec_pickle *p, const struct before *before)
{
    p->memo_put -= p->memo_count - before->memo_count;
    p->memo_count = before->memo_count;
    p->box_count = before->box_count;
    p->dict_count = before->dict_count;
    p->nested_count = before->nested_count;
}

/* The shape that followed last time first, then the others. */
static bool any_take(struct taking *t)
{
    struct rec_shapes *shapes = t->p->shapes;
    const struct before before = before_get(t->p);
    const unsigned char *start = t->b;
    const uint32_t first = shapes->at[shapes->taken].next;
    bool is_other = true;

    for (uint32_t i = 0; i < shapes->count && is_other; i++) {
        const uint32_t number = first + i < shapes->count ? first + i : first + i - shapes->count;

        if (pairs_take(t, &shapes->at[number], &is_other)) {
            shapes->at[shapes->taken].next = number;
            shapes->taken = number;
            return true;
        }
        undo(t->p, &before);
        t->b = start;
    }
    return false;
}

size_t rec_shape_take(struct rec_machine *m, const unsigned char *b, struct rec_value *out)
{
    struct taking t = {m, m->p, b + 1, m->bytes + m->len};
    const struct before before = before_get(m->p);
    uint64_t at;

    if (m->is_plain || !m->p->shapes->count || !has_room(&t) ||
        !rec_pickle_box(m->p, TAG_DICT, out))
        return 0;
    if (put_take(&t, *out) && has_room(&t) && *t.b == OP_MARK) {
        t.b++;
        at = (uint64_t)(t.b - m->bytes);
        if (at <= DICT_AT_MAX && any_take(&t)) {
            m->p->dicts[PAYLOAD_OF(*out)] = at;
            return (size_t)(t.b + 1 - b);
        }
    }
    undo(m->p, &before);
    return 0;
}

/* ---- reading again ---- */

/* A value that more than one opcode made; NULL: there is none at `start`. */
static const unsigned char *nested_take(const struct rec_pickle *p, const unsigned char *start,
                                        struct rec_value *out)
{
    const struct rec_nested *nested = rec_nested_at(p, (uint64_t)(start - rec_bytes_of(p)));

    if (!nested)
        return NULL;
    *out = nested->value;
    return rec_bytes_of(p) + nested->end;
}

static bool row_as(const struct rec_pickle *p, const struct rec_shape *shape,
                   const unsigned char *b, const uint8_t *of_key, struct rec_value *out,
                   uint64_t *found)
{
    const unsigned char *const end = rec_end_of(p);
    uint64_t has = 0;

    for (const struct rec_shape_key *key = shape->keys; key < shape->keys + shape->count; key++) {
        const uint8_t column = of_key[key->number];
        const unsigned char *start = b + key->len;
        struct rec_value v = {0};
        bool is_simple;

        if (end - b < REC_ROOM || !key_is(b, key))
            return false;
        b = start;
        is_simple = rec_simple_take(p, &b, &v);
        if (is_simple && !is_next(b))
            b = rec_skip_silent(b, end);
        if (!is_simple || !is_next(b))
            b = nested_take(p, start, &v);
        if (!b)
            return false;
        if (column) {
            out[column - 1] = v;
            has |= UINT64_C(1) << (column - 1);
        }
    }
    *found = has;
    return *b == OP_SETITEMS;
}

bool rec_shape_row(const struct rec_pickle *p, uint64_t at, const uint8_t *of_key,
                   struct rec_value *out, uint64_t *found)
{
    struct rec_shapes *shapes = p->shapes;

    for (uint32_t i = 0; i < shapes->count; i++) {
        uint32_t number =
            shapes->read + i < shapes->count ? shapes->read + i : shapes->read + i - shapes->count;

        if (row_as(p, &shapes->at[number], rec_bytes_of(p) + at, of_key, out, found)) {
            shapes->read = number;
            return true;
        }
    }
    return false;
}
