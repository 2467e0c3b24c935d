/*
 * replay/index/index_internal.h - the data of an index.
 *
 * For:            the files of replay/ that read it.
 * Must not know:  drawing, SQL.
 * Invariant:      an array is completely in memory, or paged: a group of its items is read from the file when first
 *                 needed.
 *
 * Events are numbered from 1; event `seq` is in chunk (seq - 1) / RPL_CHUNK_EVENTS.
 */
#ifndef RPL_INDEX_INTERNAL_H
#define RPL_INDEX_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/index/index.h"
#include "replay/index/scratch.h"
#include "replay/index/timeline.h"

struct rpl_pack;

/* ---- arrays ---- */

/*
 * items     `count` items of item_bytes each
 * is_there  per group of `group` items: it has been read; NULL: all items are in memory
 * loaded    groups that were read since the array was emptied
 * scratch   where `items` are; NULL: in ordinary memory
 */
struct rpl_pages {
    void *items;
    size_t count;
    size_t cap;
    size_t item_bytes;
    size_t group;
    bool *is_there;
    size_t loaded;
    struct rpl_scratch *scratch;
};

/* So much of a paged array of nodes of the pyramid, of lifetimes or of node names stays in memory. */
#define RPL_PAGES_BYTES ((size_t)16 << 20)

/* Kinds of parts that are stored in the file. */
enum rpl_part {
    RPL_PART_HEAD,
    RPL_PART_CHUNKS,
    RPL_PART_LIFETIMES,
    RPL_PART_NODES,
    RPL_PART_PEAKS,
    RPL_PART_KEYFRAME,
    RPL_PART_TOUCHED,
    RPL_PART_NAMES,
    RPL_PART_UNUSED,
    RPL_PART_EVENT_CLASSES,
    RPL_PART_FILTERS,
    /* Plus the level of the pyramid. */
    RPL_PART_LEVEL
};

/* The id of item or group `number` of a part in the table `derived`; level: 0 but for RPL_PART_LEVEL. */
static inline uint64_t rpl_part_id(enum rpl_part part, size_t level, size_t number)
{
    return ((uint64_t)part + level) << 32 | number;
}

/* The number of items of group `number`, of `count` items in groups of `group`. */
static inline size_t rpl_group_count(size_t count, size_t group, size_t number)
{
    size_t left = count - number * group;

    return left < group ? left : group;
}

/* The index of a trace with fewer events is computed at once, and not stored. */
#define RPL_STORE_EVENTS ((uint64_t)4 * RPL_CHUNK_EVENTS)
/* Incremented with every change of what is stored or of its meaning. */
#define RPL_INDEX_VERSION 6

/* ---- the pyramid ---- */

/* A node of the pyramid: its fields are those of struct rpl_column. */
struct rpl_node {
    uint64_t time_ns;
    uint64_t max_seq;
    uint64_t allocated_max;
    uint64_t allocated_min;
    uint64_t reserved_max;
    uint64_t reserved_min;
    uint64_t by_category[VS_CATEGORY_COUNT];
    int64_t step;
    uint8_t phase;
};
/* A node of level L has RPL_PIECE_EVENTS * RPL_FAN^L events. */
#define RPL_FAN 4
#define RPL_LEVEL_COUNT 18
#define RPL_NODE_GROUP 256

/* ---- chunks ---- */

/*
 * The stops of a verb in a chunk: their number, the offsets of the first and the last in the chunk (from 0), and the
 * number of stops in the chunks before.
 */
struct rpl_stops {
    uint32_t count;
    uint32_t first;
    uint32_t last;
    uint64_t before;
};

#define RPL_LOCATION_BITS 1024
#define RPL_LINE_BITS 1024
#define RPL_CHUNK_GROUP 64

/*
 * What is known of a chunk without reading its events.
 *
 * allocated … location  right before its first event
 * stops                 by verb; not those of EVENT and PEAK
 * alloc_max             the most bytes requested by an alloc, by category, + 1; 0: there is none
 * kinds                 bit 1 << kind: an event of this kind occurs
 * locations             bit id % RPL_LOCATION_BITS: an event has such a location. Valid after rpl_index_filters
 * lines                 the bits of rpl_line_bits: an alloc is on such a line. Valid after rpl_index_filters
 * module, module_len    the first module_len bytes of this string are a module that contains all events that are in a
 *                       module
 * is_inside             some event is in a module
 * is_outside_modules    some event is in no module
 * has_keyframe          a keyframe is stored: the complete state before its first event
 */
struct rpl_chunk {
    uint64_t allocated;
    uint64_t requested;
    uint64_t reserved;
    int64_t step;
    uint8_t phase;
    uint32_t location;
    struct rpl_stops stops[RPL_VERB_COUNT];
    uint64_t alloc_max[VS_CATEGORY_COUNT];
    uint32_t kinds;
    uint64_t locations[RPL_LOCATION_BITS / 64];
    uint64_t lines[RPL_LINE_BITS / 64];
    uint32_t module;
    uint32_t module_len;
    bool is_inside;
    bool is_outside_modules;
    bool has_keyframe;
};

/* ---- blocks ---- */

/*
 * The lifetime of block number i + 1; alloc_seq 0: there is no such block.
 *
 * unused_seq  the first alloc or free after the end of the op that reads the block last; 0: the block is freed before.
 *             Valid only after rpl_index_detail
 * category    its current category; valid only while the index is built
 */
struct rpl_row {
    uint64_t alloc_seq;
    uint64_t free_seq;
    uint64_t last_use_seq;
    uint64_t unused_seq;
    uint64_t requested;
    uint64_t bytes;
    uint32_t tensor;
    uint32_t location;
    uint32_t name;
    uint8_t category;
};
#define RPL_ROW_GROUP 1024
#define RPL_NODE_NAME_GROUP 4096

/*
 * A block or node whose number exceeds that of its event by more is treated as damage, since arrays are indexed by
 * these numbers.
 */
#define RPL_NUMBER_GAP_MAX (UINT64_C(1) << 20)

/* Packed bytes. */
struct rpl_blob {
    uint8_t *bytes;
    size_t len;
};

/* ---- the whole ---- */

/*
 * allocated_max, max_seq   highest allocated bytes, and the event at which they are first reached
 * max_is_recompute         that event is inside a recomputation
 * reserved_max             highest bytes in segments
 * oom_seq                  first `oom` event; 0: none
 * flops, recompute_flops   of all ops that ended; of those that were recomputed
 * steps                    training steps that began, without the set-up
 */
struct rpl_facts {
    uint64_t allocated_max;
    uint64_t max_seq;
    uint64_t max_is_recompute;
    uint64_t reserved_max;
    uint64_t oom_seq;
    uint64_t flops;
    uint64_t recompute_flops;
    uint64_t steps;
};

struct rpl_builder;
struct rpl_cursor;
struct rpl_unused;
struct rpl_event_classes;

/*
 * Number of chunks that stay decoded: the current one, those that the next keys may lead to (tui/prefetch.c), and some
 * more. 0.8 MB each, allocated when first used.
 */
#define RPL_WINDOW 40
struct rpl_window_slot {
    struct vs_event *events;
    /* Number of the chunk + 1; 0: the slot is empty. */
    uint64_t chunk;
    /* So many of the chunk's first events are there. */
    size_t count;
    uint64_t used;
};

/*
 * reader          of a trace in a file; NULL: in memory
 * is_paged        the arrays are read from the file
 * is_stored       the index is stored in the file
 * names           string ids of the names of parameters and buffers, each once, in the order of their tensors
 * keyframes, touched, changes  one blob per chunk, in memory; none if is_paged. touched: the older blocks that its
 *                              events refer to. changes: of each alloc and free, the number of events since the one
 *                              before, and the change of the allocated bytes
 * builder         the state of building; NULL if is_paged
 * chunks          the last one is in memory, always
 * has_filters     of a paged index, per RPL_CHUNK_GROUP chunks: their filters have been read
 * scratch         where everything large is while the index of a file is computed, and the arrays of a paged one; NULL:
 *                 in ordinary memory
 * bytes           the part of the file that was read last
 * unused, event_classes  see rpl_unused_get and rpl_event_classes_get; NULL until needed
 * scan            a cursor for queries that need the complete state; NULL until needed
 */
struct rpl_index {
    struct rpl_trace *trace;
    struct sto_reader *reader;
    bool is_paged;
    bool is_stored;
    uint64_t event_count;
    struct rpl_facts facts;
    struct rpl_pages chunks;
    bool *has_filters;
    struct rpl_pages levels[RPL_LEVEL_COUNT];
    struct rpl_pages rows;
    struct rpl_pages nodes;
    uint64_t *peaks;
    size_t peak_count;
    size_t peak_cap;
    bool has_peaks;
    uint32_t *names;
    size_t name_count;
    size_t name_cap;
    struct rpl_blob *keyframes;
    struct rpl_blob *touched;
    struct rpl_blob *changes;
    struct rpl_builder *builder;
    struct rpl_scratch *scratch;
    uint8_t *bytes;
    size_t bytes_cap;
    struct rpl_window_slot window[RPL_WINDOW];
    uint64_t clock;
    struct rpl_cursor *scan;
    struct rpl_unused *unused;
    struct rpl_event_classes *event_classes;
};

/* ---- index.c ---- */

/* Host memory used, in bytes, without `unused`, which is small. */
uint64_t rpl_index_bytes(const struct rpl_index *index);

/* Free the spare capacity of its arrays: for a trace to which nothing will be added. */
void rpl_index_trim(struct rpl_index *index);

/* The chunks of an index that is not paged. */
static inline struct rpl_chunk *rpl_index_chunks(const struct rpl_index *index)
{
    return index->chunks.items;
}

/* The chunk of event `seq` >= 1; the first event of a chunk; the number of events in a chunk. */
size_t rpl_index_chunk_of(uint64_t seq);
uint64_t rpl_index_chunk_first(size_t chunk);
size_t rpl_index_chunk_events(const struct rpl_index *index, size_t chunk);

/* The events of a chunk, borrowed until RPL_WINDOW other chunks have been read. Errors: those of reading the file. */
VS_MUST_USE enum vs_status rpl_index_span(struct rpl_index *index, size_t chunk,
                                          const struct vs_event **out, struct vs_error *err);

/*
 * The same of the chunk of event `seq`, as far as it is read: to event *last, which is `seq` or a later one. The first
 * time a little further than `seq`, the second time all of it.
 */
VS_MUST_USE enum vs_status rpl_index_span_to(struct rpl_index *index, uint64_t seq,
                                             const struct vs_event **out, uint64_t *last,
                                             struct vs_error *err);

/* ---- lifetimes.c ---- */

/*
 * *out: whether events of the chunk may refer to the block, which was allocated at alloc_seq. Never false if one does;
 * may be true without one only for a short trace in memory.
 */
VS_MUST_USE enum vs_status rpl_index_touches(struct rpl_index *index, size_t chunk, uint64_t block,
                                             uint64_t alloc_seq, bool *out, struct vs_error *err);

/* ---- index_store.c ---- */

/*
 * Item `i` of a level, of the lifetimes, or of the node names, read from the file if necessary. A node or a lifetime is
 * borrowed until the next one is read. Errors: those of reading the file.
 */
VS_MUST_USE enum vs_status rpl_index_node(struct rpl_index *index, size_t level, size_t i,
                                          const struct rpl_node **out, struct vs_error *err);
VS_MUST_USE enum vs_status rpl_index_row(struct rpl_index *index, size_t i,
                                         const struct rpl_row **out, struct vs_error *err);
VS_MUST_USE enum vs_status rpl_index_node_name(struct rpl_index *index, size_t i, uint32_t *out,
                                               struct vs_error *err);
/*
 * What is known of a chunk, likewise; without its filters, `locations` and `lines`, and with them. Borrowed until
 * something of the index cannot be read.
 */
VS_MUST_USE enum vs_status rpl_index_chunk(struct rpl_index *index, size_t chunk,
                                           const struct rpl_chunk **out, struct vs_error *err);
VS_MUST_USE enum vs_status rpl_index_filters(struct rpl_index *index, size_t chunk,
                                             const struct rpl_chunk **out, struct vs_error *err);
/* Read the peaks if necessary. Errors: those of reading the file. */
VS_MUST_USE enum vs_status rpl_index_peaks(struct rpl_index *index, struct vs_error *err);
/*
 * A packed part of a chunk: its keyframe, if it has one, or the older blocks that it touches. Borrowed until the next
 * call.
 */
VS_MUST_USE enum vs_status rpl_index_blob(struct rpl_index *index, enum rpl_part part, size_t chunk,
                                          struct rpl_blob *out, struct vs_error *err);

/*
 * Read the parts that are needed at once. VS_E_NOT_FOUND: the file has no index, one of other events, or a damaged
 * one. Other errors: the file cannot be read.
 */
VS_MUST_USE enum vs_status rpl_index_load(struct rpl_index *index, struct vs_error *err);
/* Its first part: whether the file has an index of these events. Errors: as rpl_index_load. */
VS_MUST_USE enum vs_status rpl_index_head_load(struct rpl_index *index, struct vs_error *err);
/*
 * Free an index that was saved, and read it from the file from now on: the memory it took is free. Errors: those of
 * reading the file.
 */
VS_MUST_USE enum vs_status rpl_index_reload(struct rpl_index *index, struct vs_error *err);
/* Append the first part: which events the index is of, and its sizes. */
void rpl_index_head_pack(const struct rpl_index *index, struct rpl_pack *out);

/* ---- index_save.c ---- */

/* Write the whole index to the file. */
VS_MUST_USE enum vs_status rpl_index_save(struct rpl_index *index, struct vs_error *err);

/* ---- index_build.c ---- */

/* Make the index empty, ready for events from 1 on. Takes `scratch`, which may be NULL. */
void rpl_index_build_begin(struct rpl_index *index, struct rpl_scratch *scratch);
/* Add the events up to `last`. */
VS_MUST_USE enum vs_status rpl_index_build(struct rpl_index *index, uint64_t last,
                                           rpl_progress_fn *progress, void *user,
                                           struct vs_error *err);
void rpl_builder_free(struct rpl_builder *builder);
/* Host memory used, in bytes. */
uint64_t rpl_builder_bytes(const struct rpl_builder *builder);

/* ---- index_detail.c ---- */

/*
 * Compute unused_seq of the rows, `changes` and `touched` of a trace in memory. Those of a trace in a file exist
 * already.
 */
VS_MUST_USE enum vs_status rpl_index_detail(struct rpl_index *index, struct vs_error *err);
/* True if these include the last event. */
bool rpl_index_has_detail(const struct rpl_index *index);

/*
 * True if the event is a stop of `verb` (not EVENT or PEAK), where `before` is the location of the event before it.
 */
bool rpl_verb_stops(const struct rpl_trace *trace, enum rpl_verb verb, uint32_t before,
                    const struct vs_event *event);
/*
 * Three bit numbers below RPL_LINE_BITS for a line of a function (a Bloom filter): all three bits are set in a chunk
 * where it occurs, and rarely in others.
 */
void rpl_line_bits(const struct vs_location *location, uint32_t bits[3]);
/* True if `path` is the module of the first `len` bytes of `module`, or inside it. */
bool rpl_module_is_inside(const char *path, const char *module, size_t len);

#endif
