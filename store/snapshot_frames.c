/*
 * store/snapshot_frames.c - see snapshot_frames.h.
 *
 * Must not know:  whose code a Python frame is (snapshot_python.c).
 *
 * The names are PyTorch's own C++ symbols, 2.0 to 2.15; tests/oracle/snapshot_lists.py tells the classes by the same ones.
 */
#include "store/snapshot_frames.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "store/snapshot_python.h"

/* Every tensor's memory is made in one of these. */
static const char *const TENSOR[] = {"at::detail::empty_", "at::native::resize_",
                                     "resize_bytes_cuda"};
static const char *const REDUCTION[] = {"gpu_reduce_kernel"};
static const char *const SORT[] = {"radix_sort", "cub::", "thrust::", "cuda_cub"};
static const char *const WORKSPACE[] = {"getNewWorkspace",
                                        "CublasHandlePool",
                                        "getCurrentCUDABlasHandle",
                                        "cublas",
                                        "Cublas",
                                        "gemm",
                                        "cudnn",
                                        "Cudnn",
                                        "addmm"};
static const char *const CPP[] = {"at::", "c10::", "torch::"};

/* What a frame of autograd, autocast or the binding of Python says of the whole stack. */
static const struct {
    const char *name;
    uint8_t flag;
} SAYS[] = {
    {"torch::autograd::Engine::", VS_STACK_ENGINE},
    {"::release_variables(", VS_STACK_RELEASE},
    {"SavedVariable::reset_data(", VS_STACK_RELEASE},
    {"at::autocast::cached_cast", VS_STACK_CAST},
    {"THPVariable_set_data", VS_STACK_SET_DATA},
    {"VariableHooks::set_data", VS_STACK_SET_DATA},
    {"THPVariable_set_grad", VS_STACK_SET_GRAD},
    {"torch::autograd::AccumulateGrad::", VS_STACK_ACCUMULATE},
};

#define COUNT(words) (sizeof(words) / sizeof((words)[0]))

/* A text that does not end with a NUL. */
struct span {
    const char *at;
    size_t len;
};

static bool has(struct span text, const char *word)
{
    return text.len && memmem(text.at, text.len, word, strlen(word)) != NULL;
}

static bool has_any(struct span text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (has(text, words[i]))
            return true;
    return false;
}

static bool begins(struct span text, const char *word)
{
    return text.len >= strlen(word) && memcmp(text.at, word, strlen(word)) == 0;
}

static struct span field(const struct sto_stacks *stacks, struct sto_value frame, uint32_t key)
{
    struct span span = {"", 0};
    struct sto_value v;

    if (sto_value_get(stacks->pickle, frame, key, &v)) {
        const char *text = sto_value_text(stacks->pickle, v, &span.len);

        span.at = text ? text : "";
    }
    return span;
}

/* The word of "at::_ops::WORD::call(" or "…::redispatch(". */
static struct span op_of(struct span name)
{
    static const char BEFORE[] = "at::_ops::";
    struct span op = {name.at + sizeof(BEFORE) - 1, 0};
    struct span rest;

    if (!begins(name, BEFORE))
        return (struct span){"", 0};
    while (op.at + op.len < name.at + name.len && op.at[op.len] != ':')
        op.len++;
    rest = (struct span){op.at + op.len, (size_t)(name.at + name.len - op.at) - op.len};
    return begins(rest, "::call(") || begins(rest, "::redispatch(") ? op : (struct span){"", 0};
}

/* The word of "…torch::autograd::WORD::apply(", with or without "generated::". */
static struct span node_of(struct span name)
{
    static const char BEFORE[] = "torch::autograd::";
    static const char GENERATED[] = "generated::";
    static const char AFTER[] = "::apply(";
    const char *end = name.len ? memmem(name.at, name.len, AFTER, sizeof(AFTER) - 1) : NULL;
    const char *start = end ? memmem(name.at, name.len, BEFORE, sizeof(BEFORE) - 1) : NULL;
    struct span node;

    if (!start || start + sizeof(BEFORE) - 1 >= end)
        return (struct span){"", 0};
    start += sizeof(BEFORE) - 1;
    node = (struct span){start, (size_t)(end - start)};
    if (begins(node, GENERATED))
        node = (struct span){node.at + sizeof(GENERATED) - 1, node.len - sizeof(GENERATED) + 1};
    return memchr(node.at, ':', node.len) ? (struct span){"", 0} : node;
}

/* Tensor's unless C++ frames say otherwise. */
struct whose {
    bool has_cpp;
    bool has_tensor;
    bool has[VS_MEM_CLASS_COUNT];
};

/* What the name of one frame says. */
struct sto_frame {
    struct span op;
    struct span node;
    uint32_t python; /* number in the list's stacks; 0: it is no Python */
    uint8_t flags;
    bool is_cpp;
    bool is_tensor;
    bool is[VS_MEM_CLASS_COUNT];
};

static void frame_look(struct sto_frame *frame, struct span name)
{
    frame->op = op_of(name);
    frame->node = node_of(name);
    for (size_t i = 0; i < COUNT(CPP) && !frame->is_cpp; i++)
        frame->is_cpp = begins(name, CPP[i]);
    frame->is_tensor = has_any(name, TENSOR, COUNT(TENSOR));
    frame->is[VS_MEM_REDUCTION] = has_any(name, REDUCTION, COUNT(REDUCTION));
    frame->is[VS_MEM_SORT] = has_any(name, SORT, COUNT(SORT));
    frame->is[VS_MEM_WORKSPACE] = has_any(name, WORKSPACE, COUNT(WORKSPACE));
    frame->flags = frame->is_cpp ? VS_STACK_HAS_CPP : 0;
    frame->flags |= frame->op.len ? VS_STACK_INSIDE_OP : 0;
    for (size_t i = 0; i < COUNT(SAYS); i++)
        frame->flags |= has(name, SAYS[i].name) ? SAYS[i].flag : 0;
}

/* The number of a frame of Python, 0 of another. */
static uint32_t python_look(struct sto_stacks *stacks, struct sto_value v, struct span name)
{
    struct span path = field(stacks, v, stacks->key_filename);
    struct vs_text file = {NULL, 0, 0};
    struct vs_frame frame = {.line = 0};
    struct sto_value at;
    uint64_t line = 0;

    if (!sto_python_is(path.at, path.len))
        return 0;
    if (sto_value_get(stacks->pickle, v, stacks->key_line, &at) &&
        !sto_value_int(stacks->pickle, at, &line))
        line = 0;
    frame.kind = (uint8_t)sto_python_file(path.at, path.len, &file);
    frame.file = vs_memlist_string(stacks->list, vs_text_get(&file), file.len);
    frame.func = vs_memlist_string(stacks->list, name.at, name.len);
    frame.line = line > UINT32_MAX ? 0 : (uint32_t)line;
    vs_text_release(&file);
    return vs_callstacks_frame(&stacks->list->stacks, &frame);
}

/* Borrowed until the next call. */
static const struct sto_frame *frame_get(struct sto_stacks *stacks, struct sto_value v)
{
    static const struct sto_frame NOTHING = {.is_cpp = false};
    uint32_t mark = sto_value_mark(stacks->pickle, v);
    struct sto_frame *frame;

    /* the mark of a list is a stack's number */
    if (sto_value_type(v) != STO_DICT)
        return &NOTHING;
    if (mark)
        return &stacks->frames[mark - 1];
    stacks->frames =
        vs_grow(stacks->frames, stacks->frame_count, &stacks->frame_cap, sizeof(*stacks->frames));
    frame = &stacks->frames[stacks->frame_count++];
    memset(frame, 0, sizeof(*frame));
    frame_look(frame, field(stacks, v, stacks->key_name));
    if (!frame->is_cpp)
        frame->python = python_look(stacks, v, field(stacks, v, stacks->key_name));
    sto_value_mark_set(stacks->pickle, v, (uint32_t)stacks->frame_count);
    return frame;
}

static void whose_look(struct whose *whose, const struct sto_frame *frame)
{
    whose->has_cpp = whose->has_cpp || frame->is_cpp;
    whose->has_tensor = whose->has_tensor || frame->is_tensor;
    for (size_t i = 0; i < VS_MEM_CLASS_COUNT && !whose->has_tensor; i++)
        whose->has[i] = whose->has[i] || frame->is[i];
}

static uint8_t whose_get(const struct whose *whose)
{
    if (!whose->has_cpp || whose->has_tensor)
        return VS_MEM_TENSOR;
    if (whose->has[VS_MEM_REDUCTION])
        return VS_MEM_REDUCTION;
    if (whose->has[VS_MEM_SORT])
        return VS_MEM_SORT;
    return whose->has[VS_MEM_WORKSPACE] ? VS_MEM_WORKSPACE : VS_MEM_SCRATCH;
}

static void op_set(struct sto_stacks *stacks, struct sto_stack *out, struct span node,
                   struct span op)
{
    struct vs_text text = {NULL, 0, 0};

    if (node.len)
        vs_text_addf(&text, "%.*s/", (int)node.len, node.at);
    vs_text_add_n(&text, op.at, op.len);
    out->op = vs_memlist_string(stacks->list, vs_text_get(&text), text.len);
    vs_text_release(&text);
}

static void python_add(struct sto_stacks *stacks, uint32_t frame)
{
    stacks->python =
        vs_grow(stacks->python, stacks->python_count, &stacks->python_cap, sizeof(*stacks->python));
    stacks->python[stacks->python_count++] = frame;
}

static void place_set(struct sto_stacks *stacks, struct sto_stack *out)
{
    const struct vs_callstacks *all = &stacks->list->stacks;
    const uint32_t found = sto_python_place(all, stacks->python, stacks->python_count,
                                            stacks->forward, stacks->module);
    const char *path;
    const char *slash;

    if (!found)
        return;
    path = vs_memlist_text(stacks->list, all->frames[found - 1].file);
    slash = strrchr(path, '/');
    out->func = all->frames[found - 1].func;
    out->line = all->frames[found - 1].line;
    out->file = slash ? vs_memlist_string(stacks->list, slash + 1, strlen(slash + 1))
                      : all->frames[found - 1].file;
}

/* The outermost op, inside a backward node that node's; and whose the allocation is. */
static void look(struct sto_stacks *stacks, struct sto_value frames, struct sto_stack *out)
{
    const struct sto_pickle *p = stacks->pickle;
    struct vs_callstack about = {.flags = 0};
    struct whose whose = {.has_cpp = false};
    struct span op = {"", 0};
    struct span node = {"", 0};

    stacks->python_count = 0;
    for (size_t i = 0; i < sto_value_count(p, frames); i++) {
        const struct sto_frame *frame = frame_get(stacks, sto_value_at(p, frames, i));

        whose_look(&whose, frame);
        op = !node.len && frame->op.len ? frame->op : op;
        node = node.len ? node : frame->node;
        about.flags |= frame->flags;
        if (frame->python)
            python_add(stacks, frame->python);
    }
    op_set(stacks, out, node, op);
    place_set(stacks, out);
    out->cls = whose_get(&whose);
    about.op = out->op;
    about.cls = out->cls;
    out->id =
        vs_callstacks_add(&stacks->list->stacks, stacks->python, stacks->python_count, &about);
}

void sto_stacks_begin(struct sto_stacks *stacks)
{
    stacks->key_name = sto_pickle_key(stacks->pickle, "name");
    stacks->key_filename = sto_pickle_key(stacks->pickle, "filename");
    stacks->key_line = sto_pickle_key(stacks->pickle, "line");
    stacks->forward = vs_memlist_string(stacks->list, "forward", SIZE_MAX);
    stacks->module = vs_memlist_string(stacks->list, "torch/nn/modules/module.py", SIZE_MAX);
}

void sto_stacks_release(struct sto_stacks *stacks)
{
    vs_free(stacks->items);
    vs_free(stacks->frames);
    vs_free(stacks->python);
}

const struct sto_stack *sto_stacks_get(struct sto_stacks *stacks, struct sto_value frames)
{
    static const struct sto_stack NOTHING = {0, 0, 0, 0, 0, VS_MEM_TENSOR};
    uint32_t mark = sto_value_mark(stacks->pickle, frames);
    struct sto_stack *stack;

    if (sto_value_type(frames) != STO_LIST)
        return &NOTHING;
    if (mark)
        return &stacks->items[mark - 1];
    stacks->items = vs_grow(stacks->items, stacks->count, &stacks->cap, sizeof(*stacks->items));
    stack = &stacks->items[stacks->count++];
    *stack = NOTHING;
    look(stacks, frames, stack);
    sto_value_mark_set(stacks->pickle, frames, (uint32_t)stacks->count);
    return stack;
}
