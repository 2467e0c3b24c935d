/*
 * export/snapshot_internal.h - a snapshot that is being written, and the words that are in it often.
 *
 * For:            export/snapshot.c and export/snapshot_….c.
 * Must not know:  opcodes.
 * Invariant:      a word, a stack, an empty list is written once; after that it is referred to.
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

/* Stacks of the same place: of a tensor's allocation, of a library's, of everything else. */
enum exp_frames { EXP_FRAMES_TENSOR, EXP_FRAMES_WORKSPACE, EXP_FRAMES_PLAIN, EXP_FRAMES_COUNT };

/*
 * A device that is being written.
 *
 * trace, index   owned where is_owned
 * first        event that the recording begins with
 * device       its number
 * start_us     of the clock on the wall, when the trace began
 * last         by block: its category at the peak or, where it was not there, the last + 1 (0: the one it was allocated as); and EXP_WAITS
 *              where its free had to wait
 * ranges       whose the segments are that there are now
 * stacks       by place and enum exp_frames
 * step, phase  that are going on, + 1; 0: none is
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
 * devices      device_count of them, by number
 * d            the one that is being written now
 * list         of what is being written now
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

/* A word as PyTorch spells it. */
void exp_snapshot_word(struct snapshot *s, enum exp_word word);
/* A key with its number. */
void exp_snapshot_uint(struct snapshot *s, enum exp_word word, uint64_t value);
/* As torch.profiler's snapshots call it, where they have such a category. */
void exp_snapshot_category(struct snapshot *s, enum vs_category category);

/* The settings in force, "" the default; borrowed. */
const char *exp_snapshot_conf(const struct rpl_trace *trace);
void exp_snapshot_settings(struct snapshot *s, const struct rpl_trace *trace);
/* The state of all devices at the end, under its key. Errors: those of reading the trace. */
VS_MUST_USE enum vs_status exp_snapshot_segments(struct snapshot *s, struct vs_error *err);

void exp_snapshot_frames_init(struct snapshot *s);
/* Is anything known of this place? */
bool exp_snapshot_has_frames(const struct snapshot *s, uint32_t location);
/* The stack of a place, innermost frame first. */
void exp_snapshot_frames(struct snapshot *s, uint32_t location, enum exp_frames frames);
void exp_snapshot_no_frames(struct snapshot *s);

#endif
