/*
 * recording/pickle_simple.h - values of one opcode, read from where they stand.
 *
 * For:            recording/pickle_packed.c, recording/pickle_shape.c.
 * Must not know:  what they are values of.
 * Invariant:      nothing near the end is read: whoever asks must have another way.
 */
#ifndef REC_PICKLE_SIMPLE_H
#define REC_PICKLE_SIMPLE_H

#include "recording/pickle_internal.h"
#include "recording/pickle_opcode.h"

/* More than any opcode that is read again has, but for a text's bytes: what stands nearer to the end is never packed. */
#define REC_ROOM 16

static inline const unsigned char *rec_bytes_of(const struct rec_pickle *p)
{
    return (const unsigned char *)p->bytes;
}

static inline const unsigned char *rec_end_of(const struct rec_pickle *p)
{
    return rec_bytes_of(p) + p->bytes_len;
}

/* Behind opcodes that neither push nor pop. */
static inline const unsigned char *rec_skip_silent(const unsigned char *b, const unsigned char *end)
{
    while (b < end) {
        switch (*b) {
        case OP_MEMOIZE:
            b += 1;
            break;
        case OP_BINPUT:
            b += 2;
            break;
        case OP_LONG_BINPUT:
            b += 5;
            break;
        case OP_FRAME:
            b += 9;
            break;
        default:
            return b;
        }
    }
    return b;
}

static inline bool rec_is_get(unsigned char code)
{
    return code == OP_BINGET || code == OP_LONG_BINGET;
}

static inline bool rec_is_text(unsigned char code)
{
    return rec_is_get(code) || code == OP_SHORT_BINUNICODE || code == OP_BINUNICODE;
}

/* A text, here or by its memo number; b moves behind it. False: there is something else. */
__attribute__((always_inline)) static inline bool
rec_text_take(const struct rec_pickle *p, const unsigned char **at, struct rec_value *out)
{
    const unsigned char *b = *at;
    uint64_t number;
    uint64_t len;
    unsigned head;

    if (rec_end_of(p) - b < REC_ROOM)
        return false;
    switch (*b) {
    case OP_BINGET:
    case OP_LONG_BINGET:
        number = *b == OP_BINGET ? b[1] : rec_four(b + 1);
        if (number >= p->memo_count)
            return false;
        *out = p->memo[number];
        *at = b + (*b == OP_BINGET ? 2 : 5);
        return true;
    case OP_SHORT_BINUNICODE:
    case OP_BINUNICODE:
        head = *b == OP_SHORT_BINUNICODE ? 2 : 5;
        len = head == 2 ? b[1] : rec_four(b + 1);
        if (len > TEXT_LEN_MAX || len > (uint64_t)(rec_end_of(p) - b - head))
            return false;
        *out = rec_pickle_text_at((uint64_t)(b + head - rec_bytes_of(p)), len);
        *at = b + head + len;
        return true;
    default:
        return false;
    }
}

/* Little-endian two's complement of up to 8 bytes. False: it does not fit in a word beside its tag. */
static inline bool rec_long_take(const unsigned char **at, struct rec_value *out)
{
    const unsigned char *b = *at;
    const unsigned n = b[1];
    int64_t number;

    if (n < 1 || n > 8)
        return false;
    number = (int64_t)(rec_eight(b + 2) << (64 - 8 * n)) >> (64 - 8 * n);
    if (number < -INT_LIMIT || number >= INT_LIMIT)
        return false;
    *out = rec_value_of(TAG_INT, (uint64_t)number);
    *at = b + 2 + n;
    return true;
}

/* What one opcode pushes; b moves behind it. False: it is not one of those that can be read again. */
__attribute__((always_inline)) static inline bool
rec_simple_take(const struct rec_pickle *p, const unsigned char **at, struct rec_value *out)
{
    const unsigned char *b = *at;

    if (rec_end_of(p) - b < REC_ROOM)
        return false;
    switch (*b) {
    case OP_BININT1:
        *out = rec_value_of(TAG_INT, b[1]);
        *at = b + 2;
        return true;
    case OP_BININT2:
        *out = rec_value_of(TAG_INT, (uint64_t)b[1] | (uint64_t)b[2] << 8);
        *at = b + 3;
        return true;
    case OP_BININT:
        *out = rec_value_of(TAG_INT, (uint64_t)(int64_t)(int32_t)rec_four(b + 1));
        *at = b + 5;
        return true;
    case OP_LONG1:
        return rec_long_take(at, out);
    case OP_NONE:
    case OP_NEWTRUE:
    case OP_NEWFALSE:
        *out = rec_value_of(TAG_PLAIN, *b == OP_NONE      ? PLAIN_NONE
                                       : *b == OP_NEWTRUE ? PLAIN_TRUE
                                                          : PLAIN_FALSE);
        *at = b + 1;
        return true;
    default:
        return rec_text_take(p, at, out);
    }
}

#endif
