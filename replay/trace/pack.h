/*
 * replay/trace/pack.h - numbers in few bytes, with a checksum: the form in which the parts of an index are kept in a
 * file.
 *
 * For:            replay/index/index_store.c, replay/state/state.c, replay/cursor/idle.c.
 * Must not know:  what the numbers mean.
 * Invariant:      unpacking never reads past the end: what is not there is 0, and is_bad says so.
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

/* 7 bits a byte, the least significant first: below 128 one byte. */
void rpl_pack_uint(struct rpl_pack *pack, uint64_t n);
/* Near 0 in either direction is short. */
void rpl_pack_int(struct rpl_pack *pack, int64_t n);
/* The change from `before` to `now`, both of them most often multiples of 512. */
void rpl_pack_bytes(struct rpl_pack *pack, uint64_t before, uint64_t now);
/* Eight bytes that depend on all before them. Nothing more is added. */
void rpl_pack_seal(struct rpl_pack *pack);

struct rpl_unpack {
    const uint8_t *at;
    const uint8_t *end;
    bool is_bad;
};

/* `len` bytes that were sealed; false where the seal does not fit them. */
VS_MUST_USE bool rpl_unpack_init(struct rpl_unpack *in, const uint8_t *bytes, size_t len);
/* The same for bytes whose seal was found to fit before. */
struct rpl_unpack rpl_unpack_again(const uint8_t *bytes, size_t len);
uint64_t rpl_unpack_uint(struct rpl_unpack *in);
int64_t rpl_unpack_int(struct rpl_unpack *in);
uint64_t rpl_unpack_bytes(struct rpl_unpack *in, uint64_t before);
/* Everything was read, and nothing was missing. */
bool rpl_unpack_is_done(const struct rpl_unpack *in);

#endif
