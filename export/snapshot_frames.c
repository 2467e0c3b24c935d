/*
 * export/snapshot_frames.c - writes a source location of a trace as a stack of frames, and the fixed strings of a
 * snapshot.
 *
 * Must not know:  pickle opcodes.
 * Invariant:      `vramscope import` recovers the same function, line and op from it.
 *
 * Ops and backward nodes have the names of the C++ functions that run them, as in stacks recorded by PyTorch, so that
 * tools can distinguish forward and backward as usual. Modules and phases have frames of their own: the viewer shows
 * them, and flame graphs group by them.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/recorded/callstack.h"
#include "base/text.h"
#include "export/snapshot_internal.h"

static const char *const WORDS[WORD_COUNT] = {
    [WORD_SEGMENTS] = "segments",
    [WORD_DEVICE_TRACES] = "device_traces",
    [WORD_ALLOCATOR_SETTINGS] = "allocator_settings",
    [WORD_EXTERNAL_ANNOTATIONS] = "external_annotations",
    [WORD_CONF] = "PYTORCH_CUDA_ALLOC_CONF",
    [WORD_MAX_SPLIT] = "max_split_size",
    [WORD_GC_THRESHOLD] = "garbage_collection_threshold",
    [WORD_EXPANDABLE] = "expandable_segments",
    [WORD_ROUNDUP] = "roundup_power2_divisions",
    [WORD_DEVICE] = "device",
    [WORD_ADDRESS] = "address",
    [WORD_TOTAL_SIZE] = "total_size",
    [WORD_ALLOCATED_SIZE] = "allocated_size",
    [WORD_ACTIVE_SIZE] = "active_size",
    [WORD_REQUESTED_SIZE] = "requested_size",
    [WORD_STREAM] = "stream",
    [WORD_SEGMENT_TYPE] = "segment_type",
    [WORD_SMALL] = "small",
    [WORD_LARGE] = "large",
    [WORD_SEGMENT_POOL_ID] = "segment_pool_id",
    [WORD_IS_EXPANDABLE] = "is_expandable",
    [WORD_FRAMES] = "frames",
    [WORD_BLOCKS] = "blocks",
    [WORD_SIZE] = "size",
    [WORD_STATE] = "state",
    [WORD_ACTIVE_ALLOCATED] = "active_allocated",
    [WORD_INACTIVE] = "inactive",
    [WORD_ACTION] = "action",
    [WORD_ADDR] = "addr",
    [WORD_DEVICE_FREE] = "device_free",
    [WORD_TIME_US] = "time_us",
    [WORD_CATEGORY] = "category",
    [WORD_ALLOC] = "alloc",
    [WORD_FREE_REQUESTED] = "free_requested",
    [WORD_FREE_COMPLETED] = "free_completed",
    [WORD_SEGMENT_ALLOC] = "segment_alloc",
    [WORD_SEGMENT_FREE] = "segment_free",
    [WORD_SEGMENT_MAP] = "segment_map",
    [WORD_SEGMENT_UNMAP] = "segment_unmap",
    [WORD_OOM] = "oom",
    [WORD_NAME] = "name",
    [WORD_FILENAME] = "filename",
    [WORD_LINE] = "line",
    [WORD_STAGE] = "stage",
    [WORD_START] = "START",
    [WORD_END] = "END",
};

void exp_snapshot_word(struct snapshot *s, enum exp_word word)
{
    exp_pickle_word(&s->p, &s->words[word], WORDS[word]);
}

void exp_snapshot_uint(struct snapshot *s, enum exp_word word, uint64_t value)
{
    exp_snapshot_word(s, word);
    exp_pickle_uint(&s->p, value);
}

void exp_snapshot_category(struct snapshot *s, enum vs_category category)
{
    const char *name = vs_category_name(category);

    if (category == VS_CAT_OTHER)
        name = "unknown";
    else if (category == VS_CAT_OPTIMIZER)
        name = "optimizer_state";
    exp_pickle_word(&s->p, &s->categories[category], name);
}

void exp_snapshot_frames_init(struct snapshot *s)
{
    size_t locations = (size_t)rpl_trace_location_count(s->d->trace) + 1;

    s->d->stacks = vs_calloc(locations * EXP_FRAMES_COUNT, sizeof(*s->d->stacks));
}

void exp_snapshot_no_frames(struct snapshot *s)
{
    struct exp_pickle_list list;

    if (exp_pickle_again(&s->p, &s->no_frames))
        return;
    exp_pickle_list(&s->p, &list);
    exp_pickle_list_end(&s->p, &list);
    exp_pickle_remember(&s->p, &s->no_frames);
}

bool exp_snapshot_has_frames(const struct snapshot *s, uint32_t location)
{
    const struct vs_location *p = rpl_trace_location(s->d->trace, location);

    return p->func || p->op || p->module || (location && !rpl_trace_is_imported(s->d->trace));
}

static void frame_put(struct snapshot *s, struct exp_pickle_list *list, const char *name,
                      const char *file, uint32_t line)
{
    exp_pickle_item(&s->p, list);
    exp_pickle_dict(&s->p);
    exp_snapshot_word(s, WORD_NAME);
    exp_pickle_text(&s->p, name);
    exp_snapshot_word(s, WORD_FILENAME);
    exp_pickle_text(&s->p, file);
    exp_snapshot_word(s, WORD_LINE);
    exp_pickle_uint(&s->p, line);
    exp_pickle_dict_end(&s->p);
}

/* A C++ frame, whose file is not known. */
static void native_put(struct snapshot *s, struct exp_pickle_list *list, const char *before,
                       const char *word, size_t len, const char *after)
{
    struct vs_text name = {NULL, 0, 0};

    vs_text_add(&name, before);
    vs_text_add_n(&name, word, len);
    vs_text_add(&name, after);
    frame_put(s, list, vs_text_get(&name), "??", 0);
    vs_text_release(&name);
}

/* "addmm" is an op, "AddmmBackward0" a node, "MulBackward0/mul_Tensor" an op inside a node. */
static void op_put(struct snapshot *s, struct exp_pickle_list *list, const char *op)
{
    const char *slash = strchr(op, '/');
    const char *inner = slash ? slash + 1 : op;
    size_t node = slash ? (size_t)(slash - op) : 0;

    if (!slash && (strstr(op, "Backward") || strcmp(op, "AccumulateGrad") == 0)) {
        node = strlen(op);
        inner = "";
    }
    if (*inner)
        native_put(s, list, "at::_ops::", inner, strlen(inner), "::call()");
    if (node)
        native_put(s, list, "torch::autograd::generated::", op, node, "::apply()");
}

/* The net's functions are in its file; those of an imported trace have theirs before the name: "train.py:step". */
static void func_put(struct snapshot *s, struct exp_pickle_list *list, const char *func,
                     uint32_t line)
{
    const char *source = rpl_trace_source_name(s->d->trace);
    const char *colon = source ? NULL : strchr(func, ':');
    struct vs_text file = {NULL, 0, 0};

    if (source)
        vs_text_add(&file, source);
    else if (colon)
        vs_text_add_n(&file, func, (size_t)(colon - func));
    frame_put(s, list, colon ? colon + 1 : func, vs_text_get(&file), line);
    vs_text_release(&file);
}

/* The file of a module's frame, which says whether the module was recorded or derived from stacks by an import. */
static const char *module_file(const struct rpl_trace *trace)
{
    const char *derived = rpl_trace_meta(trace, "derived");

    return derived && strstr(derived, "module") ? VS_STACK_DERIVED_FILE : VS_STACK_MODULE_FILE;
}

void exp_snapshot_frames(struct snapshot *s, uint32_t location, enum exp_frames frames)
{
    const struct vs_location *p = rpl_trace_location(s->d->trace, location);
    const bool is_known = location <= rpl_trace_location_count(s->d->trace);
    struct exp_memo none = {0};
    struct exp_memo *memo =
        is_known ? &s->d->stacks[(size_t)location * EXP_FRAMES_COUNT + frames] : &none;
    struct exp_pickle_list list;

    if (exp_pickle_again(&s->p, memo))
        return;
    exp_pickle_list(&s->p, &list);
    if (frames == EXP_FRAMES_TENSOR)
        frame_put(s, &list, "at::detail::empty_cuda()", "??", 0);
    else if (frames == EXP_FRAMES_WORKSPACE)
        frame_put(s, &list, "at::cuda::getNewWorkspace()", "??", 0);
    if (p->op)
        op_put(s, &list, rpl_trace_string(s->d->trace, p->op));
    if (p->func)
        func_put(s, &list, rpl_trace_string(s->d->trace, p->func), p->line);
    if (p->module) {
        const char *module = rpl_trace_string(s->d->trace, p->module);

        frame_put(s, &list, *module ? module : VS_STACK_MODEL, module_file(s->d->trace), 0);
    }
    if (!rpl_trace_is_imported(s->d->trace) && p->phase < VS_PHASE_COUNT)
        frame_put(s, &list, vs_phase_name((enum vs_phase)p->phase), "phase", 0);
    exp_pickle_list_end(&s->p, &list);
    exp_pickle_remember(&s->p, memo);
}
