/*
 * recording/snapshot_frames.c - see snapshot_frames.h.
 *
 * Must not know:  the classification of Python frames (snapshot_python.c).
 *
 * The names are C++ symbols of PyTorch 2.0 to 2.15; tests/oracle/snapshot_lists.py uses the same names.
 */
#include "recording/snapshot_frames.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "recording/snapshot_python.h"

/*
 * What the name of one frame implies for the whole stack: bits of the VS_STACK_* flags below SAYS_TENSOR, and the class
 * of the memory above.
 */
#define SAYS_TENSOR UINT32_C(0x100) /* all memory of tensors is allocated below such a frame */
#define SAYS_CLASS(cls) (SAYS_TENSOR << 1 << (cls))

static const struct {
    const char *word;
    uint32_t says;
} SAYS[] = {
    {"at::detail::empty_", SAYS_TENSOR},
    {"at::native::resize_", SAYS_TENSOR},
    {"resize_bytes_cuda", SAYS_TENSOR},
    {"gpu_reduce_kernel", SAYS_CLASS(VS_MEM_REDUCTION)},
    {"radix_sort", SAYS_CLASS(VS_MEM_SORT)},
    {"cub::", SAYS_CLASS(VS_MEM_SORT)},
    {"thrust::", SAYS_CLASS(VS_MEM_SORT)},
    {"cuda_cub", SAYS_CLASS(VS_MEM_SORT)},
    {"getNewWorkspace", SAYS_CLASS(VS_MEM_WORKSPACE)},
    {"CublasHandlePool", SAYS_CLASS(VS_MEM_WORKSPACE)},
    {"getCurrentCUDABlasHandle", SAYS_CLASS(VS_MEM_WORKSPACE)},
    {"cublas", SAYS_CLASS(VS_MEM_WORKSPACE)},
    {"Cublas", SAYS_CLASS(VS_MEM_WORKSPACE)},
    {"gemm", SAYS_CLASS(VS_MEM_WORKSPACE)},
    {"cudnn", SAYS_CLASS(VS_MEM_WORKSPACE)},
    {"Cudnn", SAYS_CLASS(VS_MEM_WORKSPACE)},
    {"addmm", SAYS_CLASS(VS_MEM_WORKSPACE)},
    /* autograd, autocast and the Python bindings */
    {"torch::autograd::Engine::", VS_STACK_ENGINE},
    {"::release_variables(", VS_STACK_RELEASE},
    {"SavedVariable::reset_data(", VS_STACK_RELEASE},
    {"at::autocast::cached_cast", VS_STACK_CAST},
    {"THPVariable_set_data", VS_STACK_SET_DATA},
    {"VariableHooks::set_data", VS_STACK_SET_DATA},
    {"THPVariable_set_grad", VS_STACK_SET_GRAD},
    {"torch::autograd::AccumulateGrad::", VS_STACK_ACCUMULATE},
};
static const char *const CPP[] = {"at::", "c10::", "torch::"};

#define COUNT(words) (sizeof(words) / sizeof((words)[0]))

/* A text without a terminating NUL. */
struct span {
    const char *at;
    size_t len;
};

static bool begins(struct span text, const char *word)
{
    return text.len >= strlen(word) && memcmp(text.at, word, strlen(word)) == 0;
}

static bool is(struct span text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.at, word, text.len) == 0;
}

static struct span field(const struct rec_stacks *stacks, struct rec_value frame, uint32_t key)
{
    struct span span = {"", 0};
    struct rec_value v;

    if (rec_value_get(stacks->pickle, frame, key, &v)) {
        const char *text = rec_value_text(stacks->pickle, v, &span.len);

        span.at = text ? text : "";
    }
    return span;
}

/* WORD of "at::_ops::WORD::call(" or "…::redispatch(". */
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

/* Find `word` in a text, which may be empty; NULL if it is not there. */
static const char *find(struct span text, const char *word)
{
    return text.len ? memmem(text.at, text.len, word, strlen(word)) : NULL;
}

/* WORD of "…torch::autograd::WORD::apply(" or "…::release_variables(", with or without "generated::". */
static struct span node_of(struct span name)
{
    static const char BEFORE[] = "torch::autograd::";
    static const char GENERATED[] = "generated::";
    const char *applies = find(name, "::apply(");
    const char *end = applies ? applies : find(name, "::release_variables(");
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

/* What the name of one frame implies. says: flags and SAYS_… bits. */
struct rec_frame {
    struct span op;
    struct span node;
    uint32_t python; /* index in the list's stacks; 0: not a Python frame */
    uint32_t module; /* string of the list: the module path in the frame */
    bool is_derived; /* written by an earlier import */
    bool is_own;     /* of the recorder, in the program's process: it is left out */
    uint32_t says;
};

/* The index of a pair of letters, among 256. */
static unsigned kind_of(const char *two)
{
    return ((unsigned char)two[0] * 31u + (unsigned char)two[1]) % 256;
}

static void words_begin(uint32_t words[REC_WORD_KINDS])
{
    memset(words, 0, REC_WORD_KINDS * sizeof(*words));
    static_assert(COUNT(SAYS) <= 32, "a bit for each word");
    static_assert(REC_WORD_KINDS == 256, "kind_of");
    for (size_t i = 0; i < COUNT(SAYS); i++)
        words[kind_of(SAYS[i].word)] |= UINT32_C(1) << i;
}

/* Search for all words in one pass: C++ names have hundreds of letters. */
static uint32_t words_say(const struct rec_stacks *stacks, struct span name)
{
    uint32_t says = 0;

    for (size_t at = 0; at + 1 < name.len; at++)
        for (uint32_t words = stacks->words[kind_of(name.at + at)]; words; words &= words - 1) {
            const size_t i = (size_t)__builtin_ctz(words);

            if (begins((struct span){name.at + at, name.len - at}, SAYS[i].word))
                says |= SAYS[i].says;
        }
    return says;
}

static void native_frame_read(const struct rec_stacks *stacks, struct rec_frame *frame,
                              struct span name)
{
    bool is_cpp = false;

    frame->op = op_of(name);
    frame->node = node_of(name);
    for (size_t i = 0; i < COUNT(CPP) && !is_cpp; i++)
        is_cpp = begins(name, CPP[i]);
    frame->says = words_say(stacks, name);
    frame->says |= is_cpp ? VS_STACK_HAS_CPP : 0;
    frame->says |= frame->op.len ? VS_STACK_INSIDE_OP : 0;
}

/* The index of a Python frame, 0 for other frames. */
static uint32_t python_frame_read(struct rec_stacks *stacks, struct rec_value v, struct span name)
{
    struct span path = field(stacks, v, stacks->key_filename);
    struct vs_text file = {NULL, 0, 0};
    struct vs_frame frame = {.line = 0};
    struct rec_value at;
    uint64_t line = 0;

    if (!rec_python_is(path.at, path.len))
        return 0;
    if (rec_value_get(stacks->pickle, v, stacks->key_line, &at) &&
        !rec_value_int(stacks->pickle, at, &line))
        line = 0;
    frame.kind = (uint8_t)rec_python_file(path.at, path.len, &file);
    frame.file = vs_memlist_string(stacks->list, vs_text_get(&file), file.len);
    frame.func = vs_memlist_string(stacks->list, name.at, name.len);
    frame.line = line > UINT32_MAX ? 0 : (uint32_t)line;
    vs_text_release(&file);
    return vs_callstacks_frame(&stacks->list->stacks, &frame);
}

/* Read the artificial frame that `vramscope export` writes for a module. */
static void module_frame_read(struct rec_stacks *stacks, struct rec_frame *frame,
                              struct rec_value v, struct span name)
{
    const struct span path = field(stacks, v, stacks->key_filename);

    frame->is_derived = is(path, VS_STACK_DERIVED_FILE);
    if (name.len && (frame->is_derived || is(path, VS_STACK_MODULE_FILE)))
        frame->module = vs_memlist_string(stacks->list, name.at, name.len);
}

/* Borrowed until the next call. */
static const struct rec_frame *frame_get(struct rec_stacks *stacks, struct rec_value v)
{
    static const struct rec_frame NOTHING = {.says = 0};
    uint32_t mark = rec_value_mark(stacks->pickle, v);
    struct rec_frame *frame;
    struct span path;

    /* the mark of a list belongs to stacks */
    if (rec_value_type(v) != REC_DICT)
        return &NOTHING;
    if (mark > stacks->list_frames)
        return &stacks->frames[mark - 1];
    stacks->frames =
        vs_grow(stacks->frames, stacks->frame_count, &stacks->frame_cap, sizeof(*stacks->frames));
    frame = &stacks->frames[stacks->frame_count++];
    memset(frame, 0, sizeof(*frame));
    native_frame_read(stacks, frame, field(stacks, v, stacks->key_name));
    path = field(stacks, v, stacks->key_filename);
    frame->is_own = rec_python_is_own(path.at, path.len);
    if (!(frame->says & VS_STACK_HAS_CPP) && !frame->is_own)
        frame->python = python_frame_read(stacks, v, field(stacks, v, stacks->key_name));
    if (!(frame->says & VS_STACK_HAS_CPP) && !frame->python)
        module_frame_read(stacks, frame, v, field(stacks, v, stacks->key_name));
    rec_value_mark_set(stacks->pickle, v, (uint32_t)stacks->frame_count);
    return frame;
}

/* The class of an allocation; tensor unless C++ frames imply another one. */
static uint8_t whose_get(uint32_t says)
{
    if (!(says & VS_STACK_HAS_CPP) || says & SAYS_TENSOR)
        return VS_MEM_TENSOR;
    if (says & SAYS_CLASS(VS_MEM_REDUCTION))
        return VS_MEM_REDUCTION;
    if (says & SAYS_CLASS(VS_MEM_SORT))
        return VS_MEM_SORT;
    return says & SAYS_CLASS(VS_MEM_WORKSPACE) ? VS_MEM_WORKSPACE : VS_MEM_SCRATCH;
}

static void op_set(struct rec_stacks *stacks, struct rec_stack *out, struct span node,
                   struct span op)
{
    struct vs_text text = {NULL, 0, 0};

    if (node.len)
        vs_text_addf(&text, "%.*s%s", (int)node.len, node.at, op.len ? "/" : "");
    vs_text_add_n(&text, op.at, op.len);
    out->op = vs_memlist_string(stacks->list, vs_text_get(&text), text.len);
    vs_text_release(&text);
}

static void python_add(struct rec_stacks *stacks, uint32_t frame)
{
    stacks->python =
        vs_grow(stacks->python, stacks->python_count, &stacks->python_cap, sizeof(*stacks->python));
    stacks->python[stacks->python_count++] = frame;
}

static void place_set(struct rec_stacks *stacks, struct rec_stack *out)
{
    const struct vs_callstacks *all = &stacks->list->stacks;
    const uint32_t found =
        rec_python_location(stacks->list, stacks->python, stacks->python_count, &stacks->names);
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

/* An operator that the recorder's function calls was called by the program: PyTorch's frames of its call go with it. */
static void operator_frames_drop(struct rec_stacks *stacks)
{
    static const char CALL[] = "_ops.py";
    const struct vs_callstacks *all = &stacks->list->stacks;

    while (stacks->python_count) {
        const struct vs_frame *last = &all->frames[stacks->python[stacks->python_count - 1] - 1];
        const char *file = vs_memlist_text(stacks->list, last->file);

        if (last->kind != VS_FRAME_TORCH ||
            (strcmp(file, CALL) != 0 && strcmp(file, "torch/_ops.py") != 0))
            return;
        stacks->python_count--;
    }
}

/* Find the outermost op (or inside a backward node that node's op) and the class of the allocation. */
static void stack_analyse(struct rec_stacks *stacks, struct rec_value frames, struct rec_stack *out)
{
    struct vs_callstack about = {.flags = 0};
    struct span op = {"", 0};
    struct span node = {"", 0};
    uint32_t says = 0;
    const size_t count = rec_value_count(stacks->pickle, frames);

    stacks->python_count = 0;
    for (size_t i = 0; i < count; i++) {
        const struct rec_frame *frame = frame_get(stacks, rec_value_at(stacks->pickle, frames, i));

        op = !node.len && frame->op.len ? frame->op : op;
        node = node.len ? node : frame->node;
        says |= frame->says;
        if (frame->module) {
            about.module = frame->module;
            stacks->list->has_derived_modules |= frame->is_derived;
        }
        if (frame->is_own)
            operator_frames_drop(stacks);
        else if (frame->python)
            python_add(stacks, frame->python);
    }
    op_set(stacks, out, node, op);
    place_set(stacks, out);
    out->cls = whose_get(says);
    about.op = out->op;
    about.cls = out->cls;
    about.flags = (uint8_t)says;
    out->id =
        vs_callstacks_add(&stacks->list->stacks, stacks->python, stacks->python_count, &about);
}

void rec_stacks_begin(struct rec_stacks *stacks)
{
    words_begin(stacks->words);
    stacks->list_items = stacks->count;
    stacks->list_frames = stacks->frame_count;
    stacks->key_name = rec_pickle_key(stacks->pickle, "name");
    stacks->key_filename = rec_pickle_key(stacks->pickle, "filename");
    stacks->key_line = rec_pickle_key(stacks->pickle, "line");
    rec_python_names_set(stacks->list, &stacks->names);
}

void rec_stacks_release(struct rec_stacks *stacks)
{
    vs_free(stacks->items);
    vs_free(stacks->frames);
    vs_free(stacks->python);
}

const struct rec_stack *rec_stacks_get(struct rec_stacks *stacks, struct rec_value frames)
{
    static const struct rec_stack NOTHING = {0, 0, 0, 0, 0, VS_MEM_TENSOR};
    uint32_t mark = rec_value_mark(stacks->pickle, frames);
    struct rec_stack *stack;

    if (rec_value_type(frames) != REC_LIST)
        return &NOTHING;
    if (mark > stacks->list_items)
        return &stacks->items[mark - 1];
    stacks->items = vs_grow(stacks->items, stacks->count, &stacks->cap, sizeof(*stacks->items));
    stack = &stacks->items[stacks->count++];
    *stack = NOTHING;
    stack_analyse(stacks, frames, stack);
    rec_value_mark_set(stacks->pickle, frames, (uint32_t)stacks->count);
    return stack;
}
