/*
 * engine/autograd/selective.c - see selective.h.
 *
 * Must not know:  the net language.
 * Invariant:      a kept result is held by its entry until a recomputation takes it, or until no placeholder of the
 *                 checkpoint is left; then entries are released in the order in which their ops first ran.
 */
#include "engine/autograd/selective.h"

#include "base/mem.h"
#include "engine/autograd/autograd_internal.h"
#include "engine/core/op_internal.h"

enum entry_state { ENTRY_RECOMPUTE, ENTRY_KEPT, ENTRY_TAKEN };

/*
 * One call of an op in the first run. tensors, versions: its results and their versions when they were kept; NULL in
 * other states.
 */
struct entry {
    enum entry_state state;
    bool is_list;
    uint32_t count;
    struct eng_tensor **tensors;
    uint32_t *versions;
};

/* The calls of one op. next: number of the next call in the current run. */
struct calls {
    enum eng_op_id id;
    struct entry *entries;
    size_t count, cap;
    size_t next;
};

/*
 * at       index + 1 of the calls of an op; 0: it was not run
 * node_id  of the node that holds what is kept
 * outer    where it is in force inside another one: that one, which every op reaches after this one
 */
struct eng_selective {
    uint32_t refs;
    struct eng *eng;
    struct eng_selective_calls policy;
    bool allows_mutation;
    struct calls *calls;
    size_t count, cap;
    uint16_t at[ENG_OP_COUNT];
    uint64_t node_id;
    struct eng_selective *outer;
    bool is_rerun;
};

struct eng_selective *eng_selective_new(struct eng *e, const struct eng_selective_calls *calls,
                                        bool allows_mutation)
{
    struct eng_selective *s = vs_calloc(1, sizeof(*s));

    s->refs = 1;
    s->eng = e;
    s->policy = *calls;
    s->allows_mutation = allows_mutation;
    return s;
}

struct eng_selective *eng_selective_ref(struct eng_selective *s)
{
    if (s)
        s->refs++;
    return s;
}

static void entry_release(struct eng_selective *s, struct entry *entry)
{
    for (uint32_t i = 0; i < entry->count; i++) {
        if (entry->tensors[i])
            eng_saved_drop(s->eng, entry->tensors[i], s->node_id, true);
        eng_unref(entry->tensors[i]);
    }
    vs_free(entry->tensors);
    vs_free(entry->versions);
}

void eng_selective_unref(struct eng_selective *s)
{
    if (!s || --s->refs)
        return;
    for (size_t i = 0; i < s->count; i++) {
        for (size_t k = 0; k < s->calls[i].count; k++)
            entry_release(s, &s->calls[i].entries[k]);
        vs_free(s->calls[i].entries);
    }
    vs_free(s->calls);
    if (s->policy.free_user)
        s->policy.free_user(s->policy.user);
    vs_free(s);
}

void eng_selective_enter(struct eng *e, struct eng_selective *s, uint64_t node_id, bool is_rerun)
{
    if (!s)
        return;
    s->outer = e->selective;
    s->node_id = node_id;
    s->is_rerun = is_rerun;
    for (size_t i = 0; i < s->count; i++)
        s->calls[i].next = 0;
    e->selective = s;
}

void eng_selective_leave(struct eng *e, struct eng_selective *s)
{
    if (!s)
        return;
    VS_ASSERT(e->selective == s);
    e->selective = s->outer;
    s->outer = NULL;
}

/* ---- the first run ---- */

static struct entry *entry_add(struct eng_selective *s, enum eng_op_id id)
{
    struct calls *calls;

    if (!s->at[id]) {
        s->calls = vs_grow(s->calls, s->count, &s->cap, sizeof(*s->calls));
        s->calls[s->count] = (struct calls){.id = id};
        s->at[id] = (uint16_t)++s->count;
    }
    calls = &s->calls[s->at[id] - 1];
    calls->entries = vs_grow(calls->entries, calls->count, &calls->cap, sizeof(*calls->entries));
    calls->entries[calls->count] = (struct entry){.state = ENTRY_RECOMPUTE};
    return &calls->entries[calls->count++];
}

/* Keeps aliases of the results: they have no history, and share the versions. */
static void entry_keep(struct eng_selective *s, struct entry *entry, const struct eng_ret *results)
{
    entry->state = ENTRY_KEPT;
    entry->is_list = results->is_list;
    entry->count = results->count;
    entry->tensors = vs_calloc((size_t)results->count + 1, sizeof(struct eng_tensor *));
    entry->versions = vs_calloc((size_t)results->count + 1, sizeof(*entry->versions));
    for (uint32_t i = 0; i < results->count; i++) {
        struct eng_tensor *t = eng_alias(results->tensors[i]);

        entry->tensors[i] = t;
        if (!t)
            continue;
        entry->versions[i] = t->version->value;
        eng_saved_hold(s->eng, t, s->node_id, true);
    }
}

/* After the op has run: keeps its results where they are wanted. */
static bool first_note(struct eng_op_call *c, struct eng_selective *s, int arg_count)
{
    bool is_wanted =
        s->policy.is_saved(s->policy.user, c->id, c->is_inplace, c->a, arg_count, c->ret);
    struct entry *entry;

    if (!c->e->failed && is_wanted && c->is_inplace)
        eng_fail(c->e, VS_E_VALUE,
                 "selective checkpoint: the policy saves %s_, which works in place and whose "
                 "result is overwritten memory: save the op before it, or use %s",
                 eng_op_get(c->id)->name, eng_op_get(c->id)->name);
    if (c->e->failed) {
        eng_ret_release(c->ret);
        return false;
    }
    entry = entry_add(s, c->id);
    if (is_wanted)
        entry_keep(s, entry, c->ret);
    return true;
}

/* ---- the recomputation ---- */

/* The next call of the op; NULL, and failed, where there is none. */
static struct entry *entry_next(struct eng *e, struct eng_selective *s, enum eng_op_id id)
{
    struct calls *calls = s->at[id] ? &s->calls[s->at[id] - 1] : NULL;
    struct entry *entry;

    if (!calls || calls->next >= calls->count)
        return eng_fail(e, VS_E_AUTOGRAD,
                        "selective checkpoint: the recomputation runs %s more often than the "
                        "first run did. This can happen if the operations in the checkpointed "
                        "region are nondeterministic or depend on global state that changed "
                        "between forward and backward.",
                        eng_op_get(id)->name);
    entry = &calls->entries[calls->next++];
    if (entry->state == ENTRY_TAKEN)
        return eng_fail(e, VS_E_AUTOGRAD,
                        "Trying to backward an extra time. You are only allowed to backward once "
                        "on any region computed under selective activation checkpoint.");
    for (uint32_t i = 0; i < entry->count; i++) {
        const struct eng_tensor *t = entry->tensors[i];

        if (t && t->version->value != entry->versions[i] && !s->allows_mutation)
            return eng_fail(e, VS_E_INPLACE,
                            "Tensor cached during selective activation checkpoint has been "
                            "mutated: %s wrote to the result of %s",
                            t->version->op ? t->version->op : "an operation", eng_op_get(id)->name);
    }
    return entry;
}

/* Makes what the entry keeps the result of the call. */
static void entry_take(struct eng_selective *s, struct entry *entry, struct eng_op_call *c)
{
    for (uint32_t i = 0; i < entry->count; i++) {
        if (entry->tensors[i])
            eng_saved_drop(s->eng, entry->tensors[i], s->node_id, true);
        if (!entry->is_list)
            eng_c_give(c, entry->tensors[i]);
    }
    if (entry->is_list)
        eng_c_give_list(c, entry->tensors, entry->count);
    vs_free(entry->tensors);
    vs_free(entry->versions);
    *entry = (struct entry){.state = ENTRY_TAKEN};
}

/* ---- a call ---- */

/* c reaches s, and then those outside of it; the kernel where s is NULL. */
static bool run_under(struct eng_op_call *c, struct eng_selective *s, int arg_count,
                      eng_run_fn *kernel, bool *is_computed)
{
    struct entry *entry;

    if (!s || c->id == ENG_OP_detach) {
        *is_computed = true;
        return kernel(c);
    }
    if (!s->is_rerun)
        return run_under(c, s->outer, arg_count, kernel, is_computed) &&
               first_note(c, s, arg_count);
    entry = entry_next(c->e, s, c->id);
    if (!entry)
        return false;
    if (entry->state == ENTRY_RECOMPUTE)
        return run_under(c, s->outer, arg_count, kernel, is_computed);
    entry_take(s, entry, c);
    *is_computed = false;
    return true;
}

bool eng_selective_run(struct eng_op_call *c, int arg_count, eng_run_fn *kernel, bool *is_computed)
{
    return run_under(c, c->e->selective, arg_count, kernel, is_computed);
}
