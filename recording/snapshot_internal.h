/*
 * recording/snapshot_internal.h - the state of reading a snapshot.
 *
 * For:            recording/snapshot.c, recording/snapshot_segments.c.
 * Must not know:  opcodes.
 * Invariant:      a field of another type than PyTorch writes is refused by name; a missing field is unknown.
 */
#ifndef REC_SNAPSHOT_INTERNAL_H
#define REC_SNAPSHOT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "base/recorded/memlist.h"
#include "recording/pickle.h"
#include "recording/snapshot_facts.h"
#include "recording/snapshot_frames.h"
#include "recording/snapshot_notes.h"

enum rec_snapshot_key {
    KEY_SEGMENTS,
    KEY_TRACES,
    KEY_SETTINGS,
    KEY_CONF,
    KEY_DEVICE,
    KEY_ADDRESS,
    KEY_TOTAL_SIZE,
    KEY_STREAM,
    KEY_SEGMENT_TYPE,
    KEY_POOL_ID,
    KEY_EXPANDABLE,
    KEY_BLOCKS,
    KEY_SIZE,
    KEY_REQUESTED,
    KEY_STATE,
    KEY_HISTORY,
    KEY_REAL_SIZE,
    KEY_ACTION,
    KEY_ADDR,
    KEY_DEVICE_FREE,
    KEY_FRAMES,
    KEY_TIME,
    KEY_METADATA,
    KEY_CATEGORY,
    KEY_FACTS,
    KEY_FORWARD_FRAMES,
    KEY_COUNT
};

/* The fields of a dict; values[key] is valid if bit `key` of `has` is set. */
struct rec_fields {
    struct rec_value at[KEY_COUNT];
    uint64_t has;
};

/*
 * with_events, with_segments: bit sets of devices. list, notes, device: of the device being read. left: how many more
 * records are accepted. actions, categories: the text that each number was last read from.
 */
struct rec_reading {
    struct rec_pickle *p;
    size_t len;
    struct rec_value top, segments, traces;
    uint64_t with_events, with_segments;
    struct vs_memlist *list;
    struct rec_stacks stacks;
    struct rec_notes notes;
    struct rec_facts facts;
    uint32_t keys[KEY_COUNT];
    struct rec_columns *columns;
    struct rec_value actions[VS_MEM_KIND_COUNT];
    struct rec_value categories[VS_CATEGORY_COUNT];
    int64_t device;
    uint64_t left;
    struct vs_error *err;
};

/* Fail: `what` (an event, a segment, …) is not what PyTorch writes. Never returns VS_OK. */
VS_MUST_USE enum vs_status rec_reading_wrong(const struct rec_reading *r, const char *what,
                                             enum rec_snapshot_key key);

/* Count one more record. VS_E_FORMAT: the limit is reached. */
VS_MUST_USE enum vs_status rec_reading_take(struct rec_reading *r);

static inline bool rec_reading_get(const struct rec_reading *r, struct rec_value v,
                                   enum rec_snapshot_key key, struct rec_value *out)
{
    return rec_value_get(r->p, v, r->keys[key], out);
}

/* False if the field is not a number; *out is unchanged if the field is missing. */
static inline bool rec_reading_get_uint(const struct rec_reading *r, struct rec_value v,
                                        enum rec_snapshot_key key, uint64_t *out)
{
    struct rec_value found;

    return !rec_reading_get(r, v, key, &found) || rec_value_int(r->p, found, out);
}

/* Sizes and times are from 0 to 2^63 - 1; addresses and streams may be written as negative numbers. */
static inline bool rec_is_count(uint64_t n)
{
    return n <= INT64_MAX;
}

static inline bool rec_reading_get_list(const struct rec_reading *r, struct rec_value v,
                                        enum rec_snapshot_key key, struct rec_value *out)
{
    return rec_reading_get(r, v, key, out) && rec_value_type(*out) == REC_LIST;
}

static inline bool rec_fields_has(const struct rec_fields *row, enum rec_snapshot_key key)
{
    return row->has >> key & 1;
}

/* False if the field is not a number; *out is unchanged if the field is missing. */
static inline bool rec_fields_uint(const struct rec_reading *r, const struct rec_fields *row,
                                   enum rec_snapshot_key key, uint64_t *out)
{
    return !rec_fields_has(row, key) || rec_value_int(r->p, row->at[key], out);
}

/* ---- snapshot_segments.c ---- */

/* The device of a segment; 0 if it has none. */
uint64_t rec_segment_device(const struct rec_reading *r, struct rec_value segment);

/* Read the segments of the selected device, with their blocks, into its list, in order of address. */
VS_MUST_USE enum vs_status rec_segments_read(struct rec_reading *r);

#endif
