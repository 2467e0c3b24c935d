/*
 * tests/store/old/old_encode.h - encodes events as the columns of versions 1 to 5 of the format, which the program only
 * reads.
 */
#ifndef TESTS_STORE_OLD_OLD_ENCODE_H
#define TESTS_STORE_OLD_OLD_ENCODE_H

#include "store/old/columns.h"

struct old_encoder;

struct old_encoder *old_encoder_new(void);
void old_encoder_free(struct old_encoder *encoder);

/*
 * Encode a chunk of `count` events, 1 <= count <= STO_CHUNK_EVENTS_MAX, into one block for each kind that occurs, in
 * order of kind. `blocks` must have space for VS_EVENT_KIND_COUNT. Returns the number of blocks. The blocks borrow the
 * encoder's memory until its next call.
 */
size_t old_encode(struct old_encoder *encoder, const struct vs_event *events, size_t count,
                  struct sto_block *blocks);

/* Encode `count` records as one block of `kind`, ignoring the kinds of the records. Otherwise as old_encode(). */
void old_encode_block(struct old_encoder *encoder, const struct vs_event *events, size_t count,
                      uint32_t kind, struct sto_block *block);

#endif
