/*
 * replay/trace/pack.h - variable-length integers with a checksum: the encoding of the index in a file.
 *
 * For:            replay/index/index_store.c, index_save.c, replay/state/state.c, replay/index/unused.c.
 * Must not know:  what the numbers mean.
 * Invariant:      unpacking never reads past the end: what is missing reads as 0, and is_bad is set.
 */
#ifndef RPL_PACK_H
#define RPL_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct rpl_pack {
    uint8_t *bytes;
    size_t len;
    size_t cap;
};

void rpl_pack_release(struct rpl_pack *pack);
void rpl_pack_clear(struct rpl_pack *pack);

/* Append `n` with 7 bits per byte, the least significant first: one byte below 128. */
void rpl_pack_uint(struct rpl_pack *pack, uint64_t n);
/* Append a signed number (zigzag encoding); numbers near 0 are short. */
void rpl_pack_int(struct rpl_pack *pack, int64_t n);
/* Append the difference of two byte counts; short if both are multiples of 512, as most are. */
void rpl_pack_bytes(struct rpl_pack *pack, uint64_t before, uint64_t now);
/* Append a checksum of 8 bytes over everything before. Nothing may be appended afterwards. */
void rpl_pack_seal(struct rpl_pack *pack);

struct rpl_unpack {
    const uint8_t *at;
    const uint8_t *end;
    bool is_bad;
};

/* Begin to read `len` bytes that rpl_pack_seal completed; false if the checksum does not match. */
VS_MUST_USE bool rpl_unpack_init(struct rpl_unpack *in, const uint8_t *bytes, size_t len);
/* The same for bytes whose checksum was verified before. */
struct rpl_unpack rpl_unpack_again(const uint8_t *bytes, size_t len);
uint64_t rpl_unpack_uint(struct rpl_unpack *in);
int64_t rpl_unpack_int(struct rpl_unpack *in);
uint64_t rpl_unpack_bytes(struct rpl_unpack *in, uint64_t before);
/* True if everything was read and nothing was missing. */
bool rpl_unpack_is_done(const struct rpl_unpack *in);

#endif
