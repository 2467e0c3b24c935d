/*
 * replay/trace/pack.c - see pack.h.
 *
 * Must not know:  what the numbers mean.
 * Invariant:      numbers are read in the order in which they were written.
 */
#include "replay/trace/pack.h"

#include <string.h>

#include "base/mem.h"

#define SEAL_BYTES 8
/* The most bytes that an encoded 64-bit number takes. */
#define NUMBER_BYTES 10
#define GRAIN 512

void rpl_pack_release(struct rpl_pack *pack)
{
    vs_free(pack->bytes);
    memset(pack, 0, sizeof(*pack));
}

void rpl_pack_clear(struct rpl_pack *pack)
{
    pack->len = 0;
}

static void reserve(struct rpl_pack *pack)
{
    if (pack->cap - pack->len >= NUMBER_BYTES)
        return;
    pack->cap = pack->cap ? pack->cap * 2 : 1024;
    pack->bytes = vs_realloc(pack->bytes, pack->cap, 1);
}

void rpl_pack_uint(struct rpl_pack *pack, uint64_t n)
{
    reserve(pack);
    for (; n >= 0x80; n >>= 7)
        pack->bytes[pack->len++] = (uint8_t)(n | 0x80);
    pack->bytes[pack->len++] = (uint8_t)n;
}

void rpl_pack_int(struct rpl_pack *pack, int64_t n)
{
    rpl_pack_uint(pack, (uint64_t)n << 1 ^ (n < 0 ? UINT64_MAX : 0));
}

void rpl_pack_bytes(struct rpl_pack *pack, uint64_t before, uint64_t now)
{
    /* The difference may wrap around; unpacking wraps back. */
    int64_t change = (int64_t)(now - before);

    if (change % GRAIN == 0) {
        rpl_pack_int(pack, change / GRAIN * 2);
    } else if (change > INT64_MAX / 4 || change < INT64_MIN / 4) {
        /* 1 marks a number that is not encoded as a difference: no odd difference is encoded as 1. */
        rpl_pack_int(pack, 1);
        rpl_pack_uint(pack, now);
    } else {
        rpl_pack_int(pack, change * 2 + (change > 0 ? 1 : -1));
    }
}

static uint64_t seal_of(const uint8_t *bytes, size_t len)
{
    uint64_t seal = len * UINT64_C(0x9E3779B97F4A7C15) + 1;
    uint64_t word;

    for (; len >= sizeof(word); bytes += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, bytes, sizeof(word));
        seal = (seal ^ word) * UINT64_C(0xff51afd7ed558ccd);
        seal ^= seal >> 32;
    }
    word = 0;
    /* An empty range may have a NULL pointer. */
    if (len)
        memcpy(&word, bytes, len);
    seal = (seal ^ word) * UINT64_C(0xc4ceb9fe1a85ec53);
    return seal ^ seal >> 29;
}

void rpl_pack_seal(struct rpl_pack *pack)
{
    uint64_t seal = seal_of(pack->bytes, pack->len);

    if (pack->cap - pack->len < SEAL_BYTES) {
        pack->cap += SEAL_BYTES + 64;
        pack->bytes = vs_realloc(pack->bytes, pack->cap, 1);
    }
    memcpy(pack->bytes + pack->len, &seal, SEAL_BYTES);
    pack->len += SEAL_BYTES;
}

bool rpl_unpack_init(struct rpl_unpack *in, const uint8_t *bytes, size_t len)
{
    uint64_t seal;

    in->at = in->end = bytes;
    in->is_bad = true;
    if (len < SEAL_BYTES)
        return false;
    memcpy(&seal, bytes + len - SEAL_BYTES, SEAL_BYTES);
    if (seal != seal_of(bytes, len - SEAL_BYTES))
        return false;
    in->end = bytes + len - SEAL_BYTES;
    in->is_bad = false;
    return true;
}

struct rpl_unpack rpl_unpack_again(const uint8_t *bytes, size_t len)
{
    return (struct rpl_unpack){.at = bytes, .end = bytes + len - SEAL_BYTES};
}

uint64_t rpl_unpack_uint(struct rpl_unpack *in)
{
    uint64_t n = 0;

    for (unsigned shift = 0; in->at < in->end && shift < 64; shift += 7) {
        uint8_t byte = *in->at++;

        n |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return n;
    }
    in->is_bad = true;
    return 0;
}

int64_t rpl_unpack_int(struct rpl_unpack *in)
{
    uint64_t n = rpl_unpack_uint(in);

    return (int64_t)(n >> 1 ^ (n & 1 ? UINT64_MAX : 0));
}

uint64_t rpl_unpack_bytes(struct rpl_unpack *in, uint64_t before)
{
    int64_t n = rpl_unpack_int(in);

    if (n == 1)
        return rpl_unpack_uint(in);
    if (n % 2 == 0)
        return before + (uint64_t)(n / 2) * GRAIN;
    return before + (uint64_t)(n / 2);
}

bool rpl_unpack_is_done(const struct rpl_unpack *in)
{
    return !in->is_bad && in->at == in->end;
}
