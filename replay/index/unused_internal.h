/*
 * replay/index/unused_internal.h - computing the states of unused bytes, and their encoding.
 *
 * For:            replay/index/index_store.c and index_save.c.
 * Must not know:  files.
 * Invariant:      unpacking gives what was packed, or nothing.
 */
#ifndef RPL_UNUSED_INTERNAL_H
#define RPL_UNUSED_INTERNAL_H

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/unused.h"
#include "replay/trace/pack.h"

/* Compute the states of an index whose blocks and changes are in memory. The caller frees *out. */
VS_MUST_USE enum vs_status rpl_unused_find(struct rpl_index *index, struct rpl_unused **out,
                                           struct vs_error *err);
void rpl_unused_pack(const struct rpl_unused *unused, struct rpl_pack *out);
/* The states that rpl_unused_pack wrote; the caller frees them. NULL: the bytes are damaged. */
struct rpl_unused *rpl_unused_unpack(struct rpl_unpack *in) VS_MUST_USE;

#endif
