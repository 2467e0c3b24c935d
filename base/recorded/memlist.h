/*
 * base/recorded/memlist.h - what happened to one device's memory, as a recording of PyTorch's has it: events, and the state they led to.
 *
 * For:            recording/ reads such lists from files, replay/ compares them, engine/ runs them through the allocator.
 * Must not know:  files, the engine.
 * Invariant:      blocks of a segment tile it in the order they were added; a string id is 0 ("") or one the list gave.
 */
#ifndef VS_BASE_MEMLIST_H
#define VS_BASE_MEMLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/recorded/callstack.h"

/* What a recording calls its events; those from VS_MEM_SNAPSHOT on are no deeds of the allocator. */
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

/* "alloc", "free_requested", … */
const char *vs_mem_kind_name(enum vs_mem_kind kind);

/* Whose an allocation is: a tensor's, or scratch that a library or a kernel asked for. */
enum vs_mem_class {
    VS_MEM_TENSOR,
    VS_MEM_WORKSPACE, /* of cuBLAS, cuBLASLt, cuDNN */
    VS_MEM_REDUCTION, /* of a reduction split over blocks: buffer, semaphores */
    VS_MEM_SORT,      /* of sorting and scanning */
    VS_MEM_SCRATCH,   /* of anything else */
    VS_MEM_CLASS_COUNT
};

/* "tensor", "workspace", "reduction", "sort", "scratch". */
const char *vs_mem_class_name(enum vs_mem_class cls);

/*
 * address  alloc, free_*: of the block (without addresses in the list: its number); segment_*: of the range; oom: free bytes
 * bytes    asked for; of the segment; the rounded request (oom); active bytes (snapshot)
 * cls      alloc only
 * op       string: the aten op, or node and op ("MulBackward0/mul_Tensor"); func, file, line: the innermost place in Python.
 *          0 where the list does not say
 * time_us  of the clock on the wall; 0 where the list does not say
 * stack    number in the list's stacks; 0: none was recorded. Of a free it is where that was asked for, or the allocation's
 * category alloc only: enum vs_category + 1, where the recording says what it is; else 0
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

/* stack, op, func, file, line, cls: of its allocation, as in an event; 0 where the list does not say. */
struct vs_mem_block {
    uint64_t bytes;
    uint64_t requested; /* only means something where the block is not inactive */
    enum vs_mem_block_state state;
    uint32_t stack;
    uint32_t op;
    uint32_t func;
    uint32_t file;
    uint32_t line;
    uint8_t cls;
};

/* pool_*: of a private pool, else 0. first_block: index into the list's blocks. */
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

/* What the program said itself: a range began or ended (record_function, profiler steps), or a text was attached to what it does. name: string; order: as it stood in the file. */
struct vs_mem_note {
    uint64_t time_us;
    uint32_t name;
    uint32_t order;
    bool is_end;
};

struct vs_memlist_strings;

/*
 * Zero-initialised: empty. conf: the allocator's settings as text, or NULL. has_addresses: the events say where, and when the driver
 * was asked; else allocations have only numbers. has_state: segments and blocks at the end are known. device: whose they are, of a
 * snapshot; else 0.
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
    uint64_t devices; /* bits: those the snapshot has something of */
    uint64_t
        other_count; /* events of kinds that are not known here, which are no deeds of the allocator */
    bool has_addresses;
    bool has_state;
    bool has_derived_modules; /* modules that its stacks name were derived by an import */
};

void vs_memlist_release(struct vs_memlist *list);

/* Append; the event or segment may be changed until the next one is added. Blocks belong to the segment added last (asserted). */
struct vs_mem_event *vs_memlist_add_event(struct vs_memlist *list, enum vs_mem_kind kind,
                                          uint64_t address, uint64_t bytes, uint64_t stream);
struct vs_mem_segment *vs_memlist_add_segment(struct vs_memlist *list);
void vs_memlist_add_block(struct vs_memlist *list, struct vs_mem_block block);
void vs_memlist_add_note(struct vs_memlist *list, struct vs_mem_note note);

/* Where the driver put each segment that the events ask for, in order; how many. The caller frees *out. 0 without addresses. */
size_t vs_memlist_segment_addresses(const struct vs_memlist *list, uint64_t **out);

/* The id of the text, which ends after `len` bytes or at a NUL; equal texts get equal ids. "" is 0. */
uint32_t vs_memlist_string(struct vs_memlist *list, const char *text, size_t len);
/* Never NULL. Borrowed until the list is released. */
const char *vs_memlist_text(const struct vs_memlist *list, uint32_t id);

#endif
