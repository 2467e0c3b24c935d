/*
 * base/recorded/memlist.h - the memory history of one device as PyTorch records it: events, and the segments and
 * blocks at the end.
 *
 * For:            recording/ reads such lists from files, replay/ compares them, engine/ runs them through the
 *                 allocator.
 * Must not know:  files, the engine.
 * Invariant:      the blocks of a segment cover it without gaps, in the order in which they were added; a string id
 *                 is 0 ("") or was returned by vs_memlist_string.
 */
#ifndef VS_BASE_MEMLIST_H
#define VS_BASE_MEMLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/recorded/callstack.h"

/* Kinds of recorded events. VS_MEM_SNAPSHOT and VS_MEM_OTHER are not allocator events. */
enum vs_mem_kind {
    VS_MEM_ALLOC,
    VS_MEM_FREE_REQUESTED,
    VS_MEM_FREE_COMPLETED,
    VS_MEM_SEGMENT_ALLOC,
    VS_MEM_SEGMENT_FREE,
    VS_MEM_SEGMENT_MAP,
    VS_MEM_SEGMENT_UNMAP,
    VS_MEM_OOM,
    VS_MEM_SNAPSHOT,
    VS_MEM_OTHER,
    VS_MEM_KIND_COUNT
};

/* The kind's name: "alloc", "free_requested", … */
const char *vs_mem_kind_name(enum vs_mem_kind kind);

/* What an allocation is: a tensor, or scratch memory of a library or kernel. */
enum vs_mem_class {
    VS_MEM_TENSOR,
    VS_MEM_WORKSPACE, /* cuBLAS, cuBLASLt, cuDNN */
    VS_MEM_REDUCTION, /* buffer and semaphores of a reduction over several thread blocks */
    VS_MEM_SORT,      /* sorting and scanning */
    VS_MEM_SCRATCH,   /* any other kernel */
    VS_MEM_CLASS_COUNT
};

/* The class's name: "tensor", "workspace", "reduction", "sort" or "scratch". */
const char *vs_mem_class_name(enum vs_mem_class cls);

/*
 * One event of a recording.
 *
 * address   alloc, free_*: address of the block (or its number, if the list has no addresses); segment_*: of the
 *           range; oom: free bytes of the device
 * bytes     requested size; segment_*: size of the range; oom: the rounded request; snapshot: active bytes
 * time_us   wall-clock time; 0 if not recorded
 * op        string id: the aten op, or node and op ("MulBackward0/mul_Tensor"); 0 if not recorded
 * func, file, line  the innermost Python frame; 0 if not recorded
 * stack     id in the list's stacks; 0 if not recorded. For a free: where it was requested, or else where the block
 *           was allocated
 * kind      enum vs_mem_kind
 * cls       alloc: enum vs_mem_class
 * category  alloc: enum vs_category + 1; 0 if not recorded
 */
struct vs_mem_event {
    uint64_t address;
    uint64_t bytes;
    uint64_t stream;
    uint64_t time_us;
    uint32_t op;
    uint32_t func;
    uint32_t file;
    uint32_t line;
    uint32_t stack;
    uint8_t kind;
    uint8_t cls;
    uint8_t category;
};

enum vs_mem_block_state { VS_MEM_INACTIVE, VS_MEM_ALLOCATED, VS_MEM_PENDING_FREE };

/*
 * A block at the end of the recording. stack, op, func, file, line and cls describe its allocation, as in
 * vs_mem_event.
 */
struct vs_mem_block {
    uint64_t bytes;
    uint64_t requested; /* undefined if the block is inactive */
    enum vs_mem_block_state state;
    uint32_t stack;
    uint32_t op;
    uint32_t func;
    uint32_t file;
    uint32_t line;
    uint8_t cls;
};

/*
 * A segment at the end of the recording. pool_graph, pool_user: id of its private pool, 0 if it belongs to none.
 * first_block: index in the list's blocks.
 */
struct vs_mem_segment {
    uint64_t address;
    uint64_t bytes;
    uint64_t stream;
    uint64_t pool_graph;
    uint64_t pool_user;
    size_t first_block;
    size_t block_count;
    bool is_small;
    bool is_expandable;
};

/*
 * An annotation made by the program: the beginning or the end of a range (record_function, profiler steps), or a text
 * attached to what follows. name: string id. order: its position in the file.
 */
struct vs_mem_note {
    uint64_t time_us;
    uint32_t name;
    uint32_t order;
    bool is_end;
};

struct vs_memlist_strings;

/*
 * A whole recording. Zero-initialised it is empty.
 *
 * conf           the allocator's settings (PYTORCH_CUDA_ALLOC_CONF), or NULL
 * device         the device that a snapshot's events belong to; else 0
 * has_addresses  events have addresses, and segments are recorded; else blocks only have numbers
 * has_state      the segments and blocks at the end are known
 */
struct vs_memlist {
    struct vs_mem_event *events;
    size_t event_count, event_cap;
    struct vs_mem_segment *segments;
    size_t segment_count, segment_cap;
    struct vs_mem_block *blocks;
    size_t block_count, block_cap;
    struct vs_mem_note *notes; /* in order of time */
    size_t note_count, note_cap;
    struct vs_callstacks stacks;
    struct vs_memlist_strings *strings;
    char *conf;
    uint64_t device;
    uint64_t devices;     /* bit mask of all devices that occur in the snapshot */
    uint64_t other_count; /* events of unknown kinds, which are not allocator events */
    bool has_addresses;
    bool has_state;
    bool has_derived_modules; /* module paths in the stacks were derived by an import */
};

void vs_memlist_release(struct vs_memlist *list);

/*
 * Append an item. The returned pointer may be written through until the next item is added. Blocks belong to the
 * segment that was added last (asserted).
 */
struct vs_mem_event *vs_memlist_add_event(struct vs_memlist *list, enum vs_mem_kind kind,
                                          uint64_t address, uint64_t bytes, uint64_t stream);
struct vs_mem_segment *vs_memlist_add_segment(struct vs_memlist *list);
void vs_memlist_add_block(struct vs_memlist *list, struct vs_mem_block block);
void vs_memlist_add_note(struct vs_memlist *list, struct vs_mem_note note);

/*
 * Collects the addresses of the segments in the order in which the events allocate them. Returns their number; the
 * caller frees *out. Returns 0 if the list has no addresses.
 */
size_t vs_memlist_segment_addresses(const struct vs_memlist *list, uint64_t **out);

/*
 * The id of a text that ends after `len` bytes or at a NUL, whichever comes first. Equal texts have equal ids; the id
 * of "" is 0.
 */
uint32_t vs_memlist_string(struct vs_memlist *list, const char *text, size_t len);
/* The text of an id. Never NULL. Borrowed until the list is released. */
const char *vs_memlist_text(const struct vs_memlist *list, uint32_t id);

#endif
