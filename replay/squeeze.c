/*
 * replay/squeeze.c - see squeeze.h.
 *
 * Must not know:  what the bytes mean.
 * Invariant:      a piece goes back to bytes before it, or to its own beginning.
 *
 * The form: a byte with the number of plain bytes (upper half) and the length of the piece less MATCH_MIN (lower half); 15 in a half is followed by bytes
 * that are added, up to one below 255. Then the plain bytes, then two bytes of how far back. At the end there are plain bytes alone.
 */
#include "replay/squeeze.h"

#include <string.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/mem.h"

#define MATCH_MIN 4
#define BACK_MAX 65535
#define HASH_BITS 13
#define HALF_MAX 15
/* After so many tries without a piece, every second byte is tried, then every third. */
#define PATIENCE_BITS 6

static uint32_t word_at(const uint8_t *p)
{
    uint32_t word;

    memcpy(&word, p, sizeof(word));
    return word;
}

static size_t same_bytes(const uint8_t *a, const uint8_t *b, const uint8_t *end)
{
    const uint8_t *start = b;

    while (b < end && *a == *b) {
        a++;
        b++;
    }
    return (size_t)(b - start);
}

static uint8_t *more_put(uint8_t *at, size_t n)
{
    for (; n >= 255; n -= 255)
        *at++ = 255;
    *at++ = (uint8_t)n;
    return at;
}

/* `plain` bytes, and a piece of `len` (0: none, it is the end) from `back` bytes before. */
static void put(struct rpl_pack *out, const uint8_t *bytes, size_t plain, size_t back, size_t len)
{
    size_t more = len ? len - MATCH_MIN : 0;
    size_t need = plain + plain / 255 + more / 255 + 8;
    uint8_t *at;

    if (out->cap - out->len < need) {
        out->cap = out->cap * 2 + need;
        out->bytes = vs_realloc(out->bytes, out->cap, 1);
    }
    at = out->bytes + out->len;
    *at++ =
        (uint8_t)((plain < HALF_MAX ? plain : HALF_MAX) << 4 | (more < HALF_MAX ? more : HALF_MAX));
    if (plain >= HALF_MAX)
        at = more_put(at, plain - HALF_MAX);
    if (plain)
        memcpy(at, bytes, plain);
    at += plain;
    if (len) {
        *at++ = (uint8_t)back;
        *at++ = (uint8_t)(back >> 8);
        if (more >= HALF_MAX)
            at = more_put(at, more - HALF_MAX);
    }
    out->len = (size_t)(at - out->bytes);
}

void rpl_squeeze(const uint8_t *bytes, size_t len, struct rpl_pack *out)
{
    /* where a word was seen last + 1 */
    uint32_t *seen = vs_calloc((size_t)1 << HASH_BITS, sizeof(*seen));
    const uint8_t *end = bytes + len;
    size_t plain = 0; /* begins here */
    size_t at = 0;
    size_t tries = 0;

    VS_ASSERT(len < UINT32_MAX);
    while (len >= MATCH_MIN && at <= len - MATCH_MIN) {
        uint32_t word = word_at(bytes + at);
        uint32_t *slot = &seen[(word * UINT32_C(2654435761)) >> (32 - HASH_BITS)];
        size_t before = *slot;
        size_t same;

        *slot = (uint32_t)at + 1;
        if (!before || at - (before - 1) > BACK_MAX || word_at(bytes + before - 1) != word) {
            at += 1 + (tries++ >> PATIENCE_BITS);
            continue;
        }
        tries = 0;
        same = MATCH_MIN + same_bytes(bytes + before - 1 + MATCH_MIN, bytes + at + MATCH_MIN, end);
        put(out, bytes + plain, at - plain, at - (before - 1), same);
        at += same;
        plain = at;
    }
    put(out, bytes + plain, len - plain, 0, 0);
    vs_free(seen);
}

/* A half, with what is added to it. */
static size_t half_get(const uint8_t **at, const uint8_t *end, size_t half)
{
    size_t n = half;
    uint8_t more = 255;

    while (half == HALF_MAX && more == 255) {
        VS_ASSERT(*at < end);
        more = *(*at)++;
        n += more;
    }
    return n;
}

void rpl_unsqueeze(const uint8_t *bytes, size_t squeezed, uint8_t *out, size_t len)
{
    const uint8_t *at = bytes;
    const uint8_t *end = bytes + squeezed;
    size_t done = 0;

    while (at < end) {
        uint8_t halves = *at++;
        size_t plain = half_get(&at, end, halves >> 4);
        size_t back;
        size_t same;

        VS_ASSERT(plain <= (size_t)(end - at) && plain <= len - done);
        if (plain)
            memcpy(out + done, at, plain);
        at += plain;
        done += plain;
        if (at == end)
            break;
        VS_ASSERT(end - at >= 2);
        back = (size_t)at[0] | (size_t)at[1] << 8;
        at += 2;
        same = half_get(&at, end, halves & HALF_MAX) + MATCH_MIN;
        VS_ASSERT(back && back <= done && same <= len - done);
        if (back >= same)
            memcpy(out + done, out + done - back, same);
        else
            for (size_t i = 0; i < same; i++)
                out[done + i] = out[done + i - back];
        done += same;
    }
    VS_ASSERT(done == len);
}
