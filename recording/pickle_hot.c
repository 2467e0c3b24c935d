/*
 * recording/pickle_hot.c - the opcodes that a snapshot consists of, without a call for each.
 *
 * For:            pickle.c, which does all opcodes.
 * Invariant:      whatever is unusual (the end near, a number not put, no room, a mark too many) is left to pickle.c, untouched: so
 *                 nothing is refused here, and without this file the same would be read, more slowly.
 */
#include "recording/pickle_list.h"
#include "recording/pickle_machine.h"
#include "recording/pickle_shape.h"

/* More than any opcode here has, but for a text's bytes. */
#define ROOM 16

/* Two's complement of n bytes, 1 to 7. */
static struct rec_value long_of(const unsigned char *b, unsigned n)
{
    uint64_t bits = rec_eight(b) << (64 - 8 * n);

    return rec_value_of(TAG_INT, (uint64_t)((int64_t)bits >> (64 - 8 * n)));
}

/* Where the machine is, in registers. floor: nothing below may be taken; memo_end: of what was put, has_gaps: not all up to there. */
struct hot {
    const unsigned char *b;
    struct rec_slot *top;
    const struct rec_slot *floor;
    struct rec_value *memo_end;
    bool has_gaps;
};

/* What one opcode pushes, and how long it is; 0: it is none of these. */
static inline unsigned scalar(const struct rec_machine *m, const unsigned char *b,
                              struct rec_value *out)
{
    size_t len;

    switch (*b) {
    case OP_BININT1:
        *out = rec_value_of(TAG_INT, b[1]);
        return 2;
    case OP_BININT2:
        *out = rec_value_of(TAG_INT, (uint64_t)b[1] | (uint64_t)b[2] << 8);
        return 3;
    case OP_BININT:
        *out = rec_value_of(TAG_INT, (uint64_t)(int64_t)(int32_t)rec_four(b + 1));
        return 5;
    case OP_LONG1:
        if (b[1] < 1 || b[1] > 7)
            return 0;
        *out = long_of(b + 2, b[1]);
        return 2 + (unsigned)b[1];
    case OP_SHORT_BINUNICODE:
        len = b[1];
        if (len + 2 > (size_t)(m->bytes + m->len - b))
            return 0;
        *out = rec_pickle_text_at((uint64_t)(b + 2 - m->bytes), len);
        return 2 + (unsigned)len;
    default:
        return 0;
    }
}

static inline unsigned fetched(const struct rec_machine *m, const struct hot *hot,
                               struct rec_value *out)
{
    const unsigned char *b = hot->b;
    uint64_t number = *b == OP_BINGET ? b[1] : rec_four(b + 1);

    if (number >= (uint64_t)(hot->memo_end - m->p->memo) ||
        m->p->memo[number].bits == REC_MEMO_UNSET)
        return 0;
    *out = m->p->memo[number];
    return *b == OP_BINGET ? 2 : 5;
}

static inline void push(const struct rec_machine *m, struct hot *hot, struct rec_value v,
                        unsigned bytes)
{
    *hot->top++ = (struct rec_slot){v, (uint64_t)(hot->b - m->bytes)};
    hot->b += bytes;
}

/* An empty list, and behind the mark its frames as memo numbers. */
static inline bool list_take(const struct rec_machine *m, struct hot *hot)
{
    size_t bytes;

    if (m->is_plain || hot->top == hot->floor || TAG_OF(hot->top[-1].value) != TAG_LIST)
        return false;
    bytes = rec_list_take(m->p, hot->top[-1].value, (size_t)(hot->memo_end - m->p->memo),
                          hot->b + 1, m->bytes + m->len);
    hot->b += bytes ? bytes + 1 : 0;
    return bytes;
}

/* A whole dict, if it is like one before. How many bytes; 0: nothing was done. */
static inline unsigned dict_take(struct rec_machine *m, struct hot *hot, struct rec_value *out)
{
    struct rec_pickle *p = m->p;
    const size_t count = (size_t)(hot->memo_end - p->memo);
    unsigned bytes;

    if (hot->has_gaps)
        return 0;
    p->memo_count = p->memo_put = count;
    bytes = (unsigned)rec_shape_take(m, hot->b, out);
    hot->memo_end = p->memo + p->memo_count;
    return bytes;
}

/* One opcode; false: pickle.c must do it. */
static inline bool one(struct rec_machine *m, struct hot *hot)
{
    struct rec_pickle *p = m->p;
    struct rec_value v = {0};
    unsigned bytes = 1;

    switch (*hot->b) {
    case OP_BINGET:
    case OP_LONG_BINGET:
        bytes = fetched(m, hot, &v);
        break;
    case OP_MEMOIZE:
        if (hot->top == hot->floor || hot->memo_end == p->memo + p->memo_cap || hot->has_gaps)
            return false;
        *hot->memo_end++ = hot->top[-1].value;
        hot->b++;
        return true;
    case OP_EMPTY_DICT:
    case OP_EMPTY_LIST:
        bytes = *hot->b == OP_EMPTY_DICT ? dict_take(m, hot, &v) : 0;
        if (bytes)
            break;
        bytes = 1;
        if (!rec_pickle_box(p, *hot->b == OP_EMPTY_DICT ? TAG_DICT : TAG_LIST, &v))
            return false;
        break;
    case OP_MARK:
        if (list_take(m, hot))
            return true;
        if (m->mark_count == REC_MACHINE_MARKS_MAX)
            return false;
        m->marks[m->mark_count++] =
            (struct rec_mark){(size_t)(hot->top - m->stack), (uint64_t)(hot->b - m->bytes)};
        hot->floor = hot->top;
        hot->b++;
        return true;
    default:
        bytes = scalar(m, hot->b, &v);
    }
    if (bytes)
        push(m, hot, v, bytes);
    return bytes;
}

void rec_machine_run_hot(struct rec_machine *m)
{
    const unsigned char *end = m->bytes + m->len;
    const struct rec_slot *last = m->stack + m->stack_cap;
    size_t depth = m->mark_count ? m->marks[m->mark_count - 1].depth : 0;
    struct hot hot = {.b = m->bytes + m->at,
                      .top = m->stack + m->depth,
                      .floor = m->stack + depth,
                      .memo_end = m->p->memo + m->p->memo_count,
                      .has_gaps = m->p->memo_put != m->p->memo_count};
    size_t count;

    while (end - hot.b >= ROOM && hot.top < last && one(m, &hot))
        ;
    m->at = (size_t)(hot.b - m->bytes);
    m->depth = (size_t)(hot.top - m->stack);
    count = (size_t)(hot.memo_end - m->p->memo);
    m->p->memo_put += count - m->p->memo_count;
    m->p->memo_count = count;
}
