/*
 * store/snapshot_internal.h - a snapshot that is being read.
 *
 * For:            store/snapshot.c, store/snapshot_segments.c.
 * Must not know:  opcodes.
 * Invariant:      a field of another type than PyTorch writes is refused with the field's name; one that is missing is not known.
 */
#ifndef STO_SNAPSHOT_INTERNAL_H
#define STO_SNAPSHOT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"
#include "base/memlist.h"
#include "store/pickle.h"
#include "store/snapshot_frames.h"
#include "store/snapshot_notes.h"

enum sto_snapshot_key {
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
    KEY_COUNT
};

/* A dict's values; bit `key` of `has`: it has one. */
struct sto_fields {
    struct sto_value at[KEY_COUNT];
    uint64_t has;
};

/*
 * with_events, with_segments: devices, as bits. Of the one being read: list, notes, device, left: how many more records may come out. actions,
 * categories: the texts that stood for each last.
 */
struct sto_reading {
    struct sto_pickle *p;
    size_t len;
    struct sto_value top, segments, traces;
    uint64_t with_events, with_segments;
    struct vs_memlist *list;
    struct sto_stacks stacks;
    struct sto_notes notes;
    uint32_t keys[KEY_COUNT];
    struct sto_columns *columns;
    struct sto_value actions[VS_MEM_KIND_COUNT];
    struct sto_value categories[VS_CATEGORY_COUNT];
    int64_t device;
    uint64_t left;
    struct vs_error *err;
};

/* It is not what PyTorch writes: `what` is an event, a segment, …; never VS_OK. */
VS_MUST_USE enum vs_status sto_reading_wrong(const struct sto_reading *r, const char *what,
                                             enum sto_snapshot_key key);

/* One more record. VS_E_FORMAT: there have been as many as can be. */
VS_MUST_USE enum vs_status sto_reading_take(struct sto_reading *r);

static inline bool sto_reading_get(const struct sto_reading *r, struct sto_value v,
                                   enum sto_snapshot_key key, struct sto_value *out)
{
    return sto_value_get(r->p, v, r->keys[key], out);
}

/* False only where there is something else than a number; *out stays where there is nothing. */
static inline bool sto_reading_get_uint(const struct sto_reading *r, struct sto_value v,
                                        enum sto_snapshot_key key, uint64_t *out)
{
    struct sto_value found;

    return !sto_reading_get(r, v, key, &found) || sto_value_int(r->p, found, out);
}

/* Sizes and times are from 0 to 2^63 - 1; addresses and streams may be written as negative. */
static inline bool sto_is_count(uint64_t n)
{
    return n <= INT64_MAX;
}

static inline bool sto_reading_get_list(const struct sto_reading *r, struct sto_value v,
                                        enum sto_snapshot_key key, struct sto_value *out)
{
    return sto_reading_get(r, v, key, out) && sto_value_type(*out) == STO_LIST;
}

static inline bool sto_fields_has(const struct sto_fields *row, enum sto_snapshot_key key)
{
    return row->has >> key & 1;
}

/* False only where there is something else than a number; *out stays where there is nothing. */
static inline bool sto_fields_uint(const struct sto_reading *r, const struct sto_fields *row,
                                   enum sto_snapshot_key key, uint64_t *out)
{
    return !sto_fields_has(row, key) || sto_value_int(r->p, row->at[key], out);
}

/* ---- snapshot_segments.c ---- */

/* The device of a segment; 0 where it does not say. */
uint64_t sto_segment_device(const struct sto_reading *r, struct sto_value segment);

/* The segments of the reading's device and their blocks into its list, in order of address. */
VS_MUST_USE enum vs_status sto_segments_read(struct sto_reading *r);

#endif
