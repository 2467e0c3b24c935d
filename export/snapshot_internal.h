/*
 * export/snapshot_internal.h - the state of writing a snapshot, and the strings that occur in it often.
 *
 * For:            export/snapshot.c and export/snapshot_….c.
 * Must not know:  pickle opcodes.
 * Invariant:      each of these strings, each stack and the empty list is written once, and referred to afterwards.
 */
#ifndef EXP_SNAPSHOT_INTERNAL_H
#define EXP_SNAPSHOT_INTERNAL_H

#include <stdbool.h>

#include "engine/alloc/conf.h"
#include "export/pickle.h"
#include "export/ranges.h"
#include "replay/index/cursor.h"

enum exp_word {
    WORD_SEGMENTS,
    WORD_DEVICE_TRACES,
    WORD_ALLOCATOR_SETTINGS,
    WORD_EXTERNAL_ANNOTATIONS,
    WORD_CONF,
    WORD_MAX_SPLIT,
    WORD_GC_THRESHOLD,
    WORD_EXPANDABLE,
    WORD_ROUNDUP,
    WORD_DEVICE,
    WORD_ADDRESS,
    WORD_TOTAL_SIZE,
    WORD_ALLOCATED_SIZE,
    WORD_ACTIVE_SIZE,
    WORD_REQUESTED_SIZE,
    WORD_STREAM,
    WORD_SEGMENT_TYPE,
    WORD_SMALL,
    WORD_LARGE,
    WORD_SEGMENT_POOL_ID,
    WORD_IS_EXPANDABLE,
    WORD_FRAMES,
    WORD_BLOCKS,
    WORD_SIZE,
    WORD_STATE,
    WORD_ACTIVE_ALLOCATED,
    WORD_INACTIVE,
    WORD_ACTION,
    WORD_ADDR,
    WORD_DEVICE_FREE,
    WORD_TIME_US,
    WORD_CATEGORY,
    WORD_ALLOC,
    WORD_FREE_REQUESTED,
    WORD_FREE_COMPLETED,
    WORD_SEGMENT_ALLOC,
    WORD_SEGMENT_FREE,
    WORD_SEGMENT_MAP,
    WORD_SEGMENT_UNMAP,
    WORD_OOM,
    WORD_NAME,
    WORD_FILENAME,
    WORD_LINE,
    WORD_STAGE,
    WORD_START,
    WORD_END,
    WORD_COUNT
};

#define EXP_WAITS 0x80u

/* Variants of the stack of a location: for tensor allocations, for library workspaces, and for everything else. */
enum exp_frames { EXP_FRAMES_TENSOR, EXP_FRAMES_WORKSPACE, EXP_FRAMES_PLAIN, EXP_FRAMES_COUNT };

/*
 * A device of the snapshot.
 *
 * trace, index   owned if is_owned, otherwise borrowed
 * first        number of the first event of the recording
 * device       number of the device
 * start_us     wall-clock time at which the trace began, in microseconds
 * last         by block: its category at the peak, or its last category if it was not live then, + 1 (0: the category
 *              it was allocated with); plus EXP_WAITS if its free was delayed
 * ranges       stream and pool of the current segments
 * stacks       by location and enum exp_frames
 * step, phase  the current ones + 1; 0: none
 * last_ns      time of the last event
 */
struct exp_device {
    struct rpl_index *index;
    struct rpl_trace *trace;
    bool is_owned;
    uint64_t first;
    uint64_t device;
    uint64_t start_us;
    uint8_t *last;
    struct exp_ranges ranges;
    uint64_t block_count;
    struct exp_memo *stacks;
    uint64_t step;
    uint64_t phase;
    uint64_t last_ns;
};

/*
 * A snapshot that is being written.
 *
 * devices      device_count devices, sorted by number
 * d            the device that is being written
 * list         the list that is being written
 */
struct snapshot {
    struct exp_pickle p;
    struct exp_pickle_list list;
    struct eng_alloc_conf conf;
    struct exp_device *devices;
    size_t device_count;
    struct exp_device *d;
    struct exp_memo words[WORD_COUNT];
    struct exp_memo categories[VS_CATEGORY_COUNT];
    struct exp_memo no_frames;
    struct rpl_scan scan;
};

/* Write a string as PyTorch spells it. */
void exp_snapshot_word(struct snapshot *s, enum exp_word word);
/* Write a key and its number. */
void exp_snapshot_uint(struct snapshot *s, enum exp_word word, uint64_t value);
/* Write a category by the name it has in snapshots of torch.profiler, if they have it. */
void exp_snapshot_category(struct snapshot *s, enum vs_category category);

/* The allocator settings of the trace; "": the defaults. Borrowed. */
const char *exp_snapshot_conf(const struct rpl_trace *trace);
/* Write the allocator settings. */
void exp_snapshot_settings(struct snapshot *s, const struct rpl_trace *trace);
/* Write the segments of all devices at the end of the trace, with their key. Errors: those of reading the trace. */
VS_MUST_USE enum vs_status exp_snapshot_segments(struct snapshot *s, struct vs_error *err);

/* Initialise the part of `s` that writes stacks. */
void exp_snapshot_frames_init(struct snapshot *s);
/* Is anything known about this location? */
bool exp_snapshot_has_frames(const struct snapshot *s, uint32_t location);
/* Write the stack of a location, innermost frame first. */
void exp_snapshot_frames(struct snapshot *s, uint32_t location, enum exp_frames frames);
/* Write an empty stack. */
void exp_snapshot_no_frames(struct snapshot *s);

#endif
