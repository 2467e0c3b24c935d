/*
 * recording/pickle_packed.c - see pickle_packed.h.
 */
#include "recording/pickle_packed.h"

#include "recording/pickle_shape.h"
#include "recording/pickle_simple.h"

/* ---- values of more than one opcode ---- */

/* They are mostly asked for in order, and there are as many as events: whoever comes next is looked at first. */
const struct rec_nested *rec_nested_at(const struct rec_pickle *p, uint64_t at)
{
    size_t from = *p->nested_next;
    size_t end = p->nested_count;

    if (from >= end || p->nested[from].at != at)
        from = 0;
    while (from < end && p->nested[from].at != at) {
        size_t middle = from + (end - from) / 2;

        if (p->nested[middle].at <= at)
            from = middle + (p->nested[middle].at != at);
        else
            end = middle;
    }
    *p->nested_next = from + 1;
    return from < end ? &p->nested[from] : NULL;
}

bool rec_nested_add(struct rec_pickle *p, struct rec_nested nested)
{
    if (!rec_pickle_grow(p, &p->nested, p->nested_count, &p->nested_cap, sizeof(*p->nested)))
        return false;
    p->nested[p->nested_count++] = nested;
    return true;
}

/* Only behind those that are there: a dict around packed ones that have some is not packed. */
static bool nested_may(const struct rec_pickle *p, uint64_t at)
{
    return !p->nested_count || p->nested[p->nested_count - 1].at < at;
}

/* ---- packing ---- */

/* The simple value at `b`, and behind it what is silent; what follows. NULL: it is none. */
static const unsigned char *simple_at(const struct rec_pickle *p, const unsigned char *b,
                                      struct rec_value *out)
{
    return rec_simple_take(p, &b, out) ? rec_skip_silent(b, rec_end_of(p)) : NULL;
}

/* Does another pair begin here, or is it the end of them? */
static bool is_next(const unsigned char *b)
{
    return rec_is_text(*b) || *b == OP_SETITEMS;
}

bool rec_packed_check(struct rec_pickle *p, const struct rec_slot *pairs, size_t count,
                      uint64_t end, bool *no_memory)
{
    const unsigned char *const start = rec_bytes_of(p);
    const unsigned char *b = start + pairs[0].at;

    *no_memory = false;
    if (count > REC_PACKED_PAIRS_MAX || pairs[0].at > DICT_AT_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct rec_slot *key = &pairs[2 * i];
        const struct rec_slot *value = &pairs[2 * i + 1];
        const uint64_t next = i + 1 < count ? value[1].at : end;
        const unsigned char *behind;
        struct rec_value v;
        uint32_t number;

        if (b != start + key->at || !rec_text_take(p, &b, &v) || v.bits != key->value.bits ||
            rec_skip_silent(b, rec_end_of(p)) != start + value->at)
            return false;
        behind = simple_at(p, start + value->at, &v);
        if (behind != start + next || v.bits != value->value.bits) {
            /* that there is more must be seen when it is read again */
            if ((behind && is_next(behind)) || !nested_may(p, value->at))
                return false;
            *no_memory = !rec_nested_add(p, (struct rec_nested){value->at, next, value->value});
        }
        *no_memory = *no_memory || !rec_key_add(p, key->value, &number);
        if (*no_memory)
            return false;
        b = start + next;
    }
    rec_shape_learn(p, pairs, count);
    return true;
}

bool rec_packed_next(const struct rec_pickle *p, uint64_t *at, struct rec_value *key,
                     struct rec_value *value)
{
    const unsigned char *b = rec_bytes_of(p) + *at;
    const unsigned char *behind;

    if (*b == OP_SETITEMS || !rec_text_take(p, &b, key))
        return false;
    b = rec_skip_silent(b, rec_end_of(p));
    behind = simple_at(p, b, value);
    if (behind && is_next(behind)) {
        *at = (uint64_t)(behind - rec_bytes_of(p));
    } else {
        const struct rec_nested *nested = rec_nested_at(p, (uint64_t)(b - rec_bytes_of(p)));

        VS_ASSERT(nested);
        *value = nested->value;
        *at = nested->end;
    }
    return true;
}
