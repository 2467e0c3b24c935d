/*
 * replay/index/index_internal.h - what an index consists of.
 *
 * For:            the files of replay/ that answer from it.
 * Must not know:  drawing, SQL.
 * Invariant:      an array is whole in memory, or paged: then a group of it is read from the file when it is first
 *                 touched.
 *
 * Events are numbered from 1; event `seq` is in chunk (seq - 1) / RPL_CHUNK_EVENTS.
 */
#ifndef RPL_INDEX_INTERNAL_H
#define RPL_INDEX_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/index/index.h"
#include "replay/index/timeline.h"

/* ---- arrays ---- */

/*
 * items      count of them, item_bytes each
 * is_there   one flag a group of `group` items; NULL: all are there
 */
struct rpl_pages {
    void *items;
    size_t count;
    size_t cap;
    size_t item_bytes;
    size_t group;
    bool *is_there;
};

/* Kinds of parts in the file. */
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
    RPL_PART_LEVEL /* + level of the pyramid */
};
/* A shorter trace is read in no time: nothing of it is stored. */
#define RPL_STORE_EVENTS ((uint64_t)4 * RPL_CHUNK_EVENTS)
/* Grows with every change of what is stored or of what it means. */
#define RPL_INDEX_VERSION 3

/* ---- the pyramid ---- */

/* A piece of the trace: see struct rpl_column, whose members these are. */
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
/* Nodes of level L are of RPL_PIECE_EVENTS * RPL_FAN^L events. */
#define RPL_FAN 4
#define RPL_LEVEL_COUNT 18
#define RPL_NODE_GROUP 256

/* ---- chunks ---- */

/*
 * Stops of a verb in a chunk: how many, and the offsets of the first and the last in it, from 0; `before`: how many in
 * earlier chunks.
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
 * A chunk, without reading it.
 *
 * allocated … place  right before its first event
 * stops         by verb; not those of EVENT and PEAK
 * alloc_max     most bytes asked for by an alloc, by category, + 1; 0: there is none
 * kinds         bit 1 << kind: occurs
 * places        bit id % RPL_LOCATION_BITS: an event has such a place
 * lines         the bits of rpl_line_bits: an alloc is on such a line
 * module, module_len   all events in a module are inside the one that the first module_len bytes of this string name
 * is_inside, is_outside_modules   whether some event is within a module, and whether some event is in none
 * has_keyframe     the state at its start is kept
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
 * The life of block number i + 1; alloc_seq 0: there is no such block. unused_seq: the first alloc or free at which
 * nothing needs it any more: it will not be read again, and the op that read it last is over; 0: there is none before
 * its end; told only after rpl_index_detail. category: the one it has, only while the index is made.
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

/* A block or node whose number is so much larger than that of its event is damage: rows are indexed by them. */
#define RPL_NUMBER_GAP_MAX (UINT64_C(1) << 20)

/* Bytes that stay packed. */
struct rpl_blob {
    uint8_t *bytes;
    size_t len;
};

/* ---- the whole ---- */

/*
 * allocated_max, max_seq   highest allocated bytes, and where
 * reserved_max  highest bytes in segments
 * oom_seq       first refused allocation
 * flops, recompute_flops   of all ops that ended
 * steps         training steps that began, without the setup
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
 * Chunks that stay decoded: where one is, where the next keys may lead (tui/prefetch.c), and some more. 0.8 MB each,
 * once it is read.
 */
#define RPL_WINDOW 20
struct rpl_window_slot {
    struct vs_event *events;
    uint64_t chunk; /* + 1; 0: empty */
    uint64_t used;
};

/*
 * reader       of a trace in a file; NULL: in memory
 * is_paged     arrays come from the file
 * is_stored    it is in the file
 * names        string ids of the names of parameters and buffers, each once, in the order of their tensors
 * frames, touched, changes   one a chunk, in memory; where is_paged none. changes: of what is allocated: of each alloc
 *                            and free how many
 *              events after the one before, from offset 0 on, and the change
 * builder      what making it goes on with; NULL where is_paged
 * bytes        a part that was read last
 * idle, sorts  what rpl_unused_get and rpl_event_classes_get give; NULL until somebody asks, but for the sorts of an
 *              index that is made
 * scan         goes where a figure needs the whole state; NULL until then
 */
struct rpl_index {
    struct rpl_trace *trace;
    struct sto_reader *reader;
    bool is_paged;
    bool is_stored;
    uint64_t event_count;
    struct rpl_facts facts;
    struct rpl_chunk *chunks;
    size_t chunk_count;
    size_t chunk_cap;
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
    uint8_t *bytes;
    size_t bytes_cap;
    struct rpl_window_slot window[RPL_WINDOW];
    uint64_t clock;
    struct rpl_cursor *scan;
    struct rpl_unused *unused;
    struct rpl_event_classes *event_classes;
};

/* ---- index.c ---- */

/* Host memory it takes; what it found of idleness left out, which is little. */
uint64_t rpl_index_bytes(const struct rpl_index *index);

/* Give back what its arrays have room for and do not use: of a trace to which nothing will be added. */
void rpl_index_trim(struct rpl_index *index);

/* Number of the chunk that event `seq` >= 1 is in; first event of a chunk; how many it has. */
size_t rpl_index_chunk_of(uint64_t seq);
uint64_t rpl_index_chunk_first(size_t chunk);
size_t rpl_index_chunk_events(const struct rpl_index *index, size_t chunk);

/* The events of a chunk, borrowed: good until RPL_WINDOW other chunks were asked for. */
VS_MUST_USE enum vs_status rpl_index_span(struct rpl_index *index, size_t chunk,
                                          const struct vs_event **out, struct vs_error *err);

/* ---- lifetimes.c ---- */

/*
 * May the chunk speak of this block, which was made at alloc_seq? Only a short trace in memory says so where it does
 * not.
 */
VS_MUST_USE enum vs_status rpl_index_touches(struct rpl_index *index, size_t chunk, uint64_t block,
                                             uint64_t alloc_seq, bool *out, struct vs_error *err);

/* ---- index_store.c ---- */

/* Item i of a level, of the lives, of the node names, there for sure afterwards. Errors: those of reading the file. */
VS_MUST_USE enum vs_status rpl_index_node(struct rpl_index *index, size_t level, size_t i,
                                          const struct rpl_node **out, struct vs_error *err);
VS_MUST_USE enum vs_status rpl_index_row(struct rpl_index *index, size_t i,
                                         const struct rpl_row **out, struct vs_error *err);
VS_MUST_USE enum vs_status rpl_index_node_name(struct rpl_index *index, size_t i, uint32_t *out,
                                               struct vs_error *err);
/* The peaks are there afterwards. */
VS_MUST_USE enum vs_status rpl_index_peaks(struct rpl_index *index, struct vs_error *err);
/* What is packed of a chunk: its frame, where it has one; the older blocks it touches. Borrowed until the next call. */
VS_MUST_USE enum vs_status rpl_index_blob(struct rpl_index *index, enum rpl_part part, size_t chunk,
                                          struct rpl_blob *out, struct vs_error *err);

/*
 * Read what is needed at once. VS_E_NOT_FOUND: it is not there, of other events, or damaged. Others: the file cannot
 * be read.
 */
VS_MUST_USE enum vs_status rpl_index_load(struct rpl_index *index, struct vs_error *err);
/* Write all of it into the file. */
VS_MUST_USE enum vs_status rpl_index_save(struct rpl_index *index, struct vs_error *err);

/* ---- index_build.c ---- */

/* Empty, ready to take in events from 1 on. */
void rpl_index_build_begin(struct rpl_index *index);
/* Take in the events up to `last`. */
VS_MUST_USE enum vs_status rpl_index_build(struct rpl_index *index, uint64_t last,
                                           rpl_progress_fn *progress, void *user,
                                           struct vs_error *err);
void rpl_builder_free(struct rpl_builder *builder);
/* Host memory of its lists. */
uint64_t rpl_builder_bytes(const struct rpl_builder *builder);

/* ---- index_detail.c ---- */

/*
 * What a trace in memory has only from here on: unused_seq of the rows, `changes` and `touched`. Of one in a file
 * nothing is left to do.
 */
VS_MUST_USE enum vs_status rpl_index_detail(struct rpl_index *index, struct vs_error *err);
/* Are these as of the last event? */
bool rpl_index_has_detail(const struct rpl_index *index);

/* Is the event a stop of `verb` (not EVENT, PEAK), where the one before it was at place `before`? */
bool rpl_verb_stops(const struct rpl_trace *trace, enum rpl_verb verb, uint32_t before,
                    const struct vs_event *event);
/*
 * Three bits, each below RPL_LINE_BITS, of a line of a function: all are set where it occurs, and hardly ever are
 * where it does not.
 */
void rpl_line_bits(const struct vs_location *location, uint32_t bits[3]);
/* Is the path `path` of the module of `len` bytes, or inside it? */
bool rpl_module_is_inside(const char *path, const char *module, size_t len);

#endif
