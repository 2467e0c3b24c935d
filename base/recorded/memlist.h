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
#include "base/event.h"
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
 * facts     id in the list's facts; 0 if nothing more was observed
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
    uint32_t facts;
    uint8_t kind;
    uint8_t cls;
    uint8_t category;
};

/*
 * What was observed of an allocation or a free while the program ran, shared by all events of which the same is true.
 *
 * op, module, name  string ids. op: outermost op or autograd node that is running, 0: none. module: path as
 *                   named_modules() has it, if has_module; "" is the model itself. name: of the parameter, buffer,
 *                   gradient or state of an optimizer that is stored there; 0: none
 * phase     enum vs_phase + 1; 0: not known
 * makes_graph  the op is not in a module, and a backward has run through the node that it made
 * tensor    shape, strides and dtype of the tensor, if has_tensor; its other fields are 0
 */
struct vs_mem_facts {
    uint32_t op;
    uint32_t module;
    uint32_t name;
    uint8_t phase;
    bool makes_graph;
    bool has_module;
    bool has_tensor;
    struct vs_tensor_desc tensor;
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

/*
 * How a program was observed while it ran; is_there: it was.
 *
 * matched    allocations that have facts, of all `total`
 * own        allocations and frees that the observer caused: 0, or the events are not those of the program alone
 * collected  frees by Python's collector of reference cycles, whose time depends on how many objects there are
 * ended      string id: why something was not observed to the end; 0: it was
 */
struct vs_mem_observed {
    uint64_t matched;
    uint64_t total;
    uint64_t own;
    uint64_t collected;
    uint32_t ended;
    bool is_there;
};

/*
 * What a program did between events of the allocator, as it was observed. The kinds are those of the trace, except that
 * a gradient is the `.grad` of a parameter, and a cache that of autocast: "un": it releases the block.
 */
enum vs_mem_did_kind {
    VS_MEM_DID_OP_BEGIN,
    VS_MEM_DID_OP_END,
    VS_MEM_DID_USE,
    VS_MEM_DID_SAVE,
    VS_MEM_DID_UNSAVE,
    VS_MEM_DID_GRADIENT,
    VS_MEM_DID_UNGRADIENT,
    VS_MEM_DID_CAST,
    VS_MEM_DID_CACHE,
    VS_MEM_DID_UNCACHE,
    VS_MEM_DID_RERUN_BEGIN,
    VS_MEM_DID_RERUN_END,
    VS_MEM_DID_COUNT
};

/* The kind's name: "op_begin", … */
const char *vs_mem_did_name(enum vs_mem_did_kind kind);

/*
 * kind     enum vs_mem_did_kind
 * before   index of the event of the list that comes next; event_count: none
 * context  index in the list's contexts: where it happened
 * block    use, save, unsave, gradient, cast, cache: index of the event that allocated the block
 * from     cast: index of the event that allocated the original + 1; 0: not known
 * node     op_*, save, unsave: number of the node of autograd, 0: none
 * name     rerun_*: string id of the function; gradient: of the parameter
 * ops      op_end: of an op that a checkpoint runs again: into how many PyTorch dispatches it
 * flops    op_*: arithmetic of the op; 0: none, or it is not known
 * overwritten_bytes  op_begin: of the tensors that the op overwrites in place
 * role     op_*: enum vs_op_role
 * is_input   save, unsave: a checkpoint keeps it as an argument of its function
 * stays      unsave: something else holds the block
 * from_dtype, to_dtype  cast: enum vs_dtype
 */
struct vs_mem_did {
    uint64_t node;
    uint64_t flops;
    uint64_t overwritten_bytes;
    uint32_t before;
    uint32_t context;
    uint32_t block;
    uint32_t from;
    uint32_t name;
    uint32_t ops;
    uint8_t kind;
    uint8_t role;
    uint8_t from_dtype, to_dtype;
    bool is_input;
    bool stays;
};

/*
 * Of how many of the ops that were observed the arithmetic is known; is_there: it was determined. `unknown` of `ops`
 * have some and no formula; names: string id, those of these ops.
 */
struct vs_mem_arithmetic {
    uint64_t ops;
    uint64_t unknown;
    uint32_t names;
    bool is_there;
};

/*
 * Where something happened. op, module, has_module, phase: as in vs_mem_facts. event: index of an event of the list
 * with the same stack + 1; 0: none. is_own: that event happened inside of it.
 */
struct vs_mem_context {
    uint32_t op;
    uint32_t module;
    uint32_t event;
    uint8_t phase;
    bool has_module;
    bool is_own;
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
    struct vs_mem_facts *facts; /* by id - 1 */
    size_t facts_count, facts_cap;
    struct vs_mem_did *did; /* in order; `before` never decreases */
    size_t did_count, did_cap;
    struct vs_mem_context *contexts;
    size_t context_count, context_cap;
    struct vs_mem_observed observed;
    struct vs_mem_arithmetic arithmetic;
    struct vs_callstacks stacks;
    struct vs_memlist_strings *strings;
    char *conf;
    uint64_t device;
    uint64_t devices;     /* bit mask of all devices that occur in the snapshot */
    uint64_t other_count; /* events of unknown kinds, which are not allocator events */
    bool has_addresses;
    bool has_state;
    bool has_saves;           /* `did` has what autograd saved */
    uint32_t saves_unknown;   /* string id: why it has not; 0: it is not said */
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
/* Returns the id, from 1. */
uint32_t vs_memlist_add_facts(struct vs_memlist *list, const struct vs_mem_facts *facts);
/* What was observed of an event; NULL: nothing. Borrowed until more is added. */
const struct vs_mem_facts *vs_memlist_facts(const struct vs_memlist *list,
                                            const struct vs_mem_event *event);

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
