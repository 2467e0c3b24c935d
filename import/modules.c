/*
 * import/modules.c - see modules.h.
 */
#include "import/modules.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"

/*
 * One module in a stack. file: of its forward; caller_file, caller_line: where it was called; line: current line of its
 * forward.
 */
struct level {
    uint32_t file;
    uint32_t caller_file, caller_line;
    uint32_t line;
};

/* The modules of each stack, outermost first, in one array; last: of all stacks. */
struct chains {
    struct level *levels;
    size_t count, cap;
    size_t *first;
};

/* How often a line has made a call during this run of its function. */
struct line_count {
    uint32_t line;
    uint32_t count;
};

/*
 * A running module. number: index of the call among those of its line. lines: call counts of its own lines. path:
 * string id of its path; 0: not computed yet.
 */
struct call {
    struct level level;
    uint32_t first_line, last_line;
    uint32_t number;
    struct line_count *lines;
    size_t line_count, line_cap;
    uint32_t path;
};

/* repeated: by caller_line and caller_file, whether the line calls more than once during one run of its function. */
struct walking {
    const struct vs_memlist *list;
    struct imp_import *import;
    struct chains chains;
    struct call root; /* not a module: the caller of the outermost modules */
    struct call *calls;
    size_t depth, call_cap;
    uint64_t *repeated;
    size_t repeated_count, repeated_cap;
    struct vs_table repeated_by_key;
    bool is_naming;
};

/* ---- the modules of a stack ---- */

static const struct vs_frame *frame_at(const struct vs_memlist *list,
                                       const struct vs_callstack *stack, size_t i)
{
    return vs_callstacks_at(&list->stacks, stack, i);
}

static uint8_t role_at(const struct imp_roles *roles, const struct vs_callstack *stack, size_t i)
{
    return roles->roles[roles->list->stacks.pool[stack->first + i] - 1];
}

/*
 * The frame of the forward that the call at frame `call` runs. If one forward delegates to another (a checkpoint, a
 * wrapper), the innermost. Returns `call` if the stack ends there.
 */
static size_t callee_of(const struct imp_roles *roles, const struct vs_callstack *stack,
                        size_t call)
{
    size_t found = call;

    for (size_t i = call; i-- > 0 && role_at(roles, stack, i) != IMP_ROLE_CALL;) {
        const char *func = vs_memlist_text(roles->list, frame_at(roles->list, stack, i)->func);

        if (strcmp(func, "forward") == 0 && role_at(roles, stack, i + 1) != IMP_ROLE_FUNCTION) {
            found = i;
        } else if (found == call) {
            found = i;
        }
    }
    return found;
}

/* Whether a line of this frame can be the caller of a module. A wrapper of PyTorch only delegates. */
static bool is_caller(const struct vs_memlist *list, const struct vs_frame *frame)
{
    return frame->kind != VS_FRAME_TORCH ||
           strncmp(vs_memlist_text(list, frame->file), "torch/nn/modules/", 17) == 0;
}

/* Whether this is a module without a forward of its own that PyTorch wraps around another one (torch.compile). */
static bool is_handing_on(const struct vs_memlist *list, const struct vs_frame *callee)
{
    return strcmp(vs_memlist_text(list, callee->func), "forward") != 0 && !is_caller(list, callee);
}

static void chain_add(struct chains *chains, const struct imp_roles *roles,
                      const struct vs_callstack *stack)
{
    const struct vs_frame *caller = NULL;

    for (size_t i = stack->count; i-- > 0;) {
        const struct vs_frame *frame = frame_at(roles->list, stack, i);
        const bool is_call = role_at(roles, stack, i) == IMP_ROLE_CALL;
        size_t callee;

        if (!is_call && is_caller(roles->list, frame))
            caller = frame;
        /* of consecutive calls, the innermost is directly above the forward */
        if (!is_call || (i && role_at(roles, stack, i - 1) == IMP_ROLE_CALL))
            continue;
        callee = callee_of(roles, stack, i);
        if (callee == i || is_handing_on(roles->list, frame_at(roles->list, stack, callee)))
            continue;
        chains->levels =
            vs_grow(chains->levels, chains->count, &chains->cap, sizeof(*chains->levels));
        chains->levels[chains->count++] =
            (struct level){.file = frame_at(roles->list, stack, callee)->file,
                           .caller_file = caller ? caller->file : 0,
                           .caller_line = caller ? caller->line : 0,
                           .line = frame_at(roles->list, stack, callee)->line};
    }
}

static void chains_fill(struct chains *chains, const struct imp_roles *roles)
{
    const struct vs_callstacks *all = &roles->list->stacks;

    chains->first = vs_calloc(all->count + 1, sizeof(*chains->first));
    for (size_t s = 0; s < all->count; s++) {
        chains->first[s] = chains->count;
        chain_add(chains, roles, &all->items[s]);
    }
    chains->first[all->count] = chains->count;
}

/* ---- lines that make several calls ---- */

static uint64_t line_key(const struct level *level)
{
    return (uint64_t)level->caller_file << 32 | level->caller_line;
}

static bool is_repeated(const struct walking *w, const struct level *level)
{
    const uint64_t key = line_key(level);
    struct vs_probe probe = vs_probe(vs_hash_number(key));

    while (vs_table_next(&w->repeated_by_key, &probe))
        if (w->repeated[probe.item] == key)
            return true;
    return false;
}

static void repeated_add(struct walking *w, const struct level *level)
{
    const uint64_t key = line_key(level);

    if (!key || is_repeated(w, level))
        return;
    vs_table_add(&w->repeated_by_key, vs_hash_number(key), w->repeated_count);
    w->repeated = vs_grow(w->repeated, w->repeated_count, &w->repeated_cap, sizeof(*w->repeated));
    w->repeated[w->repeated_count++] = key;
}

/* ---- running calls ---- */

/* Return the number of the call that `parent` makes from this line now. */
static uint32_t number_take(struct call *parent, uint32_t line)
{
    for (size_t i = 0; i < parent->line_count; i++)
        if (parent->lines[i].line == line)
            return parent->lines[i].count++;
    parent->lines =
        vs_grow(parent->lines, parent->line_count, &parent->line_cap, sizeof(*parent->lines));
    parent->lines[parent->line_count++] = (struct line_count){.line = line, .count = 1};
    return 0;
}

static void call_begin(struct walking *w, size_t depth, const struct level *level)
{
    struct call *call;

    while (w->call_cap <= depth) {
        const size_t before = w->call_cap;

        w->calls = vs_grow(w->calls, before, &w->call_cap, sizeof(*w->calls));
        memset(&w->calls[before], 0, (w->call_cap - before) * sizeof(*w->calls));
    }
    call = &w->calls[depth];
    call->level = *level;
    call->first_line = call->last_line = level->line;
    call->line_count = 0;
    call->path = 0;
    call->number = number_take(depth ? &w->calls[depth - 1] : &w->root, level->caller_line);
    if (call->number && depth)
        repeated_add(w, level);
}

/* Whether the module at this depth is still in the same call. */
static bool is_same_call(const struct call *call, const struct level *level)
{
    return call->level.file == level->file && call->level.caller_file == level->caller_file &&
           call->level.caller_line == level->caller_line &&
           (level->line >= call->last_line || level->line > call->first_line);
}

/* Continue with a stack of these modules; true: the outermost module was called anew. */
static bool walk_to(struct walking *w, const struct level *levels, size_t count)
{
    size_t depth = 0;

    for (; depth < count && depth < w->depth && is_same_call(&w->calls[depth], &levels[depth]);
         depth++)
        w->calls[depth].last_line = levels[depth].line;
    w->depth = count;
    for (size_t i = depth; i < count; i++)
        call_begin(w, i, &levels[i]);
    return depth == 0 && count != 0;
}

/* ---- paths ---- */

/* Add "conv" for "torch/nn/modules/conv.py". */
static void stem_add(struct vs_text *text, const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;
    const size_t len = strlen(name);

    vs_text_add_n(text, name, len > 3 && strcmp(name + len - 3, ".py") == 0 ? len - 3 : len);
}

static uint32_t path_id(struct walking *w)
{
    struct vs_text text = {NULL, 0, 0};
    struct call *innermost = &w->calls[w->depth - 1];

    if (innermost->path)
        return innermost->path;
    for (size_t i = 0; i < w->depth; i++) {
        const struct call *call = &w->calls[i];

        vs_text_add(&text, i ? "." : "");
        stem_add(&text, vs_memlist_text(w->list, call->level.file));
        vs_text_add_char(&text, ':');
        vs_text_add_uint(&text, call->level.caller_line);
        if (i && is_repeated(w, &call->level)) {
            vs_text_add_char(&text, '.');
            vs_text_add_uint(&text, call->number);
        }
    }
    innermost->path = imp_string(w->import, vs_text_get(&text));
    vs_text_release(&text);
    return innermost->path;
}

/* ---- the whole ---- */

static bool is_stack_own(const struct vs_mem_event *event, bool has_free_stacks)
{
    return event->stack && (has_free_stacks || (event->kind != VS_MEM_FREE_REQUESTED &&
                                                event->kind != VS_MEM_FREE_COMPLETED));
}

static bool is_level_same(const struct level *a, const struct level *b)
{
    return a->file == b->file && a->caller_file == b->caller_file &&
           a->caller_line == b->caller_line;
}

static void walk(struct walking *w, struct imp_modules *out, bool has_free_stacks)
{
    const struct level *first = NULL;

    w->depth = 0;
    w->root.line_count = 0;
    for (size_t i = 0; i < w->list->event_count; i++) {
        const struct vs_mem_event *event = &w->list->events[i];
        const size_t from = event->stack ? w->chains.first[event->stack - 1] : 0;
        const size_t to = event->stack ? w->chains.first[event->stack] : 0;
        bool is_new;

        if (!is_stack_own(event, has_free_stacks))
            continue;
        if (from == to) {
            w->depth = 0; /* no module is running, so all calls have returned */
            continue;
        }
        is_new = walk_to(w, &w->chains.levels[from], to - from);
        if (!w->is_naming)
            continue;
        out->paths[i] = path_id(w);
        out->calls[i] = is_new && first && is_level_same(first, &w->chains.levels[from]);
        first = first ? first : &w->chains.levels[from];
    }
}

/* Whether the stacks name the modules. */
static bool is_recorded(const struct vs_memlist *list)
{
    for (size_t i = 0; i < list->stacks.count; i++)
        if (list->stacks.items[i].module)
            return true;
    return false;
}

/* The paths of a program that was observed; an event outside of all modules has none. */
static void observed_fill(struct imp_modules *out, struct imp_import *import,
                          const struct vs_memlist *list)
{
    out->is_recorded = true;
    for (size_t i = 0; i < list->event_count; i++) {
        const struct vs_mem_facts *facts = vs_memlist_facts(list, &list->events[i]);

        out->paths[i] = facts && facts->has_module
                            ? imp_path_string(import, vs_memlist_text(list, facts->module))
                            : 0;
    }
}

static void recorded_fill(struct imp_modules *out, struct imp_import *import,
                          const struct vs_memlist *list, bool has_free_stacks)
{
    out->is_recorded = true;
    for (size_t i = 0; i < list->event_count; i++)
        out->paths[i] = is_stack_own(&list->events[i], has_free_stacks)
                            ? imp_module_reported(import, list, list->events[i].stack)
                            : 0;
}

void imp_modules_fill(struct imp_modules *out, struct imp_import *import,
                      const struct vs_memlist *list, const struct imp_roles *roles,
                      bool has_free_stacks)
{
    struct walking w = {.list = list, .import = import};

    out->paths = vs_calloc(list->event_count + 1, sizeof(*out->paths));
    out->calls = vs_calloc(list->event_count + 1, sizeof(*out->calls));
    if (is_recorded(list)) {
        recorded_fill(out, import, list, has_free_stacks);
        return;
    }
    chains_fill(&w.chains, roles);
    walk(&w, out, has_free_stacks);
    w.is_naming = true;
    walk(&w, out, has_free_stacks);
    if (list->facts_count)
        observed_fill(out, import, list);
    for (size_t i = 0; i < w.call_cap; i++)
        vs_free(w.calls[i].lines);
    vs_free(w.calls);
    vs_free(w.root.lines);
    vs_free(w.chains.levels);
    vs_free(w.chains.first);
    vs_free(w.repeated);
    vs_table_release(&w.repeated_by_key);
}

void imp_modules_release(struct imp_modules *modules)
{
    vs_free(modules->paths);
    vs_free(modules->calls);
    memset(modules, 0, sizeof(*modules));
}
