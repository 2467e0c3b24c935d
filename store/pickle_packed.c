/*
 * store/pickle_packed.c - see pickle_packed.h.
 */
#include "store/pickle_packed.h"

#include <string.h>

#include "base/hash.h"
#include "store/pickle_opcode.h"

/* More than any opcode that is read again has, but for a text's bytes: what stands nearer to the end is never packed. */
#define ROOM 16

static inline const unsigned char *byte_at(const struct sto_pickle *p, uint64_t at)
{
    return (const unsigned char *)p->bytes + at;
}

static inline uint64_t left(const struct sto_pickle *p, uint64_t at)
{
    return p->bytes_len - at;
}

/* Behind opcodes that neither push nor pop. */
static inline uint64_t skip_silent(const struct sto_pickle *p, uint64_t at)
{
    while (at < p->bytes_len) {
        switch (*byte_at(p, at)) {
        case OP_MEMOIZE:
            at += 1;
            break;
        case OP_BINPUT:
            at += 2;
            break;
        case OP_LONG_BINPUT:
            at += 5;
            break;
        case OP_FRAME:
            at += 9;
            break;
        default:
            return at;
        }
    }
    return at;
}

/* A text, here or by its memo number. False: there is something else. */
__attribute__((always_inline)) static inline bool text_take(const struct sto_pickle *p,
                                                            uint64_t *at, struct sto_value *out)
{
    const unsigned char *b = byte_at(p, *at);
    uint64_t number;
    uint64_t len;
    uint64_t head;

    if (left(p, *at) < ROOM)
        return false;
    switch (*b) {
    case OP_BINGET:
    case OP_LONG_BINGET:
        number = *b == OP_BINGET ? b[1] : sto_four(b + 1);
        if (number >= p->memo_count)
            return false;
        *out = p->memo[number];
        *at += *b == OP_BINGET ? 2 : 5;
        return true;
    case OP_SHORT_BINUNICODE:
    case OP_BINUNICODE:
        head = *b == OP_SHORT_BINUNICODE ? 2 : 5;
        len = head == 2 ? b[1] : sto_four(b + 1);
        if (len > TEXT_LEN_MAX || len > left(p, *at + head))
            return false;
        *out = sto_pickle_text_at(*at + head, len);
        *at += head + len;
        return true;
    default:
        return false;
    }
}

static inline bool is_text(unsigned char code)
{
    return code == OP_BINGET || code == OP_LONG_BINGET || code == OP_SHORT_BINUNICODE ||
           code == OP_BINUNICODE;
}

/* Little-endian two's complement of up to 8 bytes. False: it does not fit in a word beside its tag. */
static inline bool long_take(const unsigned char *b, uint64_t *at, struct sto_value *out)
{
    unsigned n = b[1];
    int64_t number;

    if (n < 1 || n > 8)
        return false;
    number = (int64_t)(sto_eight(b + 2) << (64 - 8 * n)) >> (64 - 8 * n);
    if (number < -INT_LIMIT || number >= INT_LIMIT)
        return false;
    *out = sto_value_of(TAG_INT, (uint64_t)number);
    *at += 2 + n;
    return true;
}

/* What one opcode pushes. False: it is not one of those that can be read again. */
__attribute__((always_inline)) static inline bool simple_take(const struct sto_pickle *p,
                                                              uint64_t *at, struct sto_value *out)
{
    const unsigned char *b = byte_at(p, *at);

    if (left(p, *at) < ROOM)
        return false;
    switch (*b) {
    case OP_BININT1:
        *out = sto_value_of(TAG_INT, b[1]);
        *at += 2;
        return true;
    case OP_BININT2:
        *out = sto_value_of(TAG_INT, (uint64_t)b[1] | (uint64_t)b[2] << 8);
        *at += 3;
        return true;
    case OP_BININT:
        *out = sto_value_of(TAG_INT, (uint64_t)(int64_t)(int32_t)sto_four(b + 1));
        *at += 5;
        return true;
    case OP_LONG1:
        return long_take(b, at, out);
    case OP_NONE:
    case OP_NEWTRUE:
    case OP_NEWFALSE:
        *out = sto_value_of(TAG_PLAIN, *b == OP_NONE      ? PLAIN_NONE
                                       : *b == OP_NEWTRUE ? PLAIN_TRUE
                                                          : PLAIN_FALSE);
        *at += 1;
        return true;
    default:
        return text_take(p, at, out);
    }
}

/* ---- values of more than one opcode ---- */

/* They are mostly asked for in order, and there are as many as events: whoever comes next is looked at first. */
static const struct sto_nested *nested_at(const struct sto_pickle *p, uint64_t at)
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

static bool nested_add(struct sto_pickle *p, struct sto_nested nested)
{
    if (!sto_pickle_grow(p, &p->nested, p->nested_count, &p->nested_cap, sizeof(*p->nested)))
        return false;
    p->nested[p->nested_count++] = nested;
    return true;
}

/* Only behind those that are there: a dict around packed ones that have some is not packed. */
static bool nested_may(const struct sto_pickle *p, uint64_t at)
{
    return !p->nested_count || p->nested[p->nested_count - 1].at < at;
}

/* ---- packing ---- */

bool sto_packed_check(struct sto_pickle *p, const struct sto_slot *pairs, size_t count,
                      uint64_t end, bool *no_memory)
{
    uint64_t at = pairs[0].at;

    *no_memory = false;
    if (count > STO_PACKED_PAIRS_MAX || at > DICT_AT_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct sto_slot *key = &pairs[2 * i];
        const struct sto_slot *value = &pairs[2 * i + 1];
        uint64_t next = i + 1 < count ? value[1].at : end;
        struct sto_value v;
        uint32_t number;
        bool is_simple;

        if (at != key->at || !text_take(p, &at, &v) || v.bits != key->value.bits ||
            skip_silent(p, at) != value->at)
            return false;
        at = value->at;
        is_simple = simple_take(p, &at, &v);
        at = skip_silent(p, at);
        if (!is_simple || at != next || v.bits != value->value.bits) {
            /* that there is more must be seen when it is read again */
            if (is_simple && (is_text(*byte_at(p, at)) || *byte_at(p, at) == OP_SETITEMS))
                return false;
            if (!nested_may(p, value->at))
                return false;
            *no_memory = !nested_add(p, (struct sto_nested){value->at, next, value->value});
        }
        *no_memory = *no_memory || !sto_key_add(p, key->value, &number);
        if (*no_memory)
            return false;
        at = next;
    }
    return true;
}

bool sto_packed_next(const struct sto_pickle *p, uint64_t *at, struct sto_value *key,
                     struct sto_value *value)
{
    uint64_t start;
    bool is_simple;

    if (*byte_at(p, *at) == OP_SETITEMS || !text_take(p, at, key))
        return false;
    *at = start = skip_silent(p, *at);
    is_simple = simple_take(p, at, value);
    if (is_simple)
        *at = skip_silent(p, *at);
    if (!is_simple || !(is_text(*byte_at(p, *at)) || *byte_at(p, *at) == OP_SETITEMS)) {
        const struct sto_nested *nested = nested_at(p, start);

        VS_ASSERT(nested);
        *value = nested->value;
        *at = nested->end;
    }
    return true;
}
