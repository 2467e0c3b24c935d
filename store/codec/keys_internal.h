/*
 * store/codec/keys_internal.h - the chunks that others may have as their reference, and what finds positions in them.
 *
 * For:            store/codec/encode.c.
 * Must not know:  how a chunk is encoded.
 * Invariant:      a key has no reference itself.
 */
#ifndef STO_KEYS_INTERNAL_H
#define STO_KEYS_INTERNAL_H

#include "store/codec/codec_internal.h"

/* The highest id of each sort that occurred. */
struct sto_newest {
    uint64_t id[STO_IDS_COUNT];
};

#define STO_FINDER_BITS 15

/* Finds a position of a chunk by the kinds and locations of the three events from there on. */
struct sto_finder {
    uint16_t positions[1 << STO_FINDER_BITS];
};

void sto_finder_clear(struct sto_finder *finder);

/* Add position `at` of the events; is_last: in the place of an earlier one where the same events follow. */
void sto_finder_put(struct sto_finder *finder, const struct vs_event *events, size_t count,
                    size_t at, bool is_last);

/* A position where probably the same events follow as at `at` of `events`; false: there is none. */
bool sto_finder_get(const struct sto_finder *finder, const struct vs_event *events, size_t count,
                    size_t at, size_t *position);

/*
 * newest  the newest ids before each event, and after the last
 * limits  ids up to these are of objects that outlive a step
 * uses    how many chunks have it as their reference
 */
struct sto_key {
    int64_t id;
    size_t count;
    struct vs_event *events;
    struct sto_newest *newest;
    struct sto_newest limits;
    struct sto_finder finder;
    uint32_t uses;
    uint64_t age;
};

struct sto_keys;

struct sto_keys *sto_keys_new(void) VS_MUST_USE;
void sto_keys_free(struct sto_keys *keys);

/* The key that has most of the events; NULL: none has any. Borrowed until the next sto_keys_add(). */
struct sto_key *sto_keys_find(struct sto_keys *keys, const struct vs_event *events, size_t count);

/* Keep a copy of a chunk as a key, in the place of the one that was not used for longest. */
void sto_keys_add(struct sto_keys *keys, const struct vs_event *events, size_t count, int64_t id,
                  const struct sto_newest *newest, const struct sto_newest *limits);

#endif
