/*
 * lang/run/plan_chain.c - see plan_chain.h.
 *
 * Must not know:  how the passes are run, how placements are found.
 * Invariant:      a run holds calls that could be made one after the other in one function, each with the result of the
 *                 one before, without changing what the net computes.
 */
#include "lang/run/plan_chain.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "lang/run/plan_chain_internal.h"

void lang_plan_chain_release(struct lang_plan_chain *chain)
{
    for (size_t i = 0; i < chain->run_count; i++) {
        vs_free(chain->runs[i].calls);
        vs_free(chain->runs[i].from);
    }
    vs_free(chain->runs);
    vs_free(chain->calls);
    vs_free(chain->stage_of);
    vs_free(chain->outer_of);
    pln_chain_release(&chain->chain);
    memset(chain, 0, sizeof(*chain));
}

/* ---- calls ---- */

static const char *path_of(const struct lang_plan_chain *chain, uint32_t call)
{
    return chain->pass->marks[chain->calls[call].enter].path;
}

static void calls_find(struct lang_plan_chain *chain)
{
    const struct lang_pass *pass = chain->pass;
    uint32_t at = 0;

    for (uint32_t i = 0; i < pass->mark_count; i++) {
        if (pass->marks[i].path) {
            chain->calls =
                vs_grow(chain->calls, chain->call_count, &chain->call_cap, sizeof(*chain->calls));
            chain->calls[chain->call_count] = (struct lang_plan_call){.enter = i, .parent = at};
            at = (uint32_t)chain->call_count++;
        } else {
            chain->calls[at].exit = i;
            at = chain->calls[at].parent;
        }
    }
}

struct named {
    const char *path;
    uint32_t call;
};

static int by_path(const void *a, const void *b)
{
    const struct named *x = a;
    const struct named *y = b;
    int order = strcmp(x->path, y->path);

    return order ? order : (x->call > y->call) - (x->call < y->call);
}

/* Whether `path` is `parent` and one more name. */
static bool is_child_path(const char *path, const char *parent)
{
    size_t len = strlen(parent);
    const char *name = len ? path + len + 1 : path;

    return (len == 0 || (strncmp(path, parent, len) == 0 && path[len] == '.')) &&
           strchr(name, '.') == NULL;
}

/* Calls of one module: usable if there is one, or if all are made by the module that owns it, in one call of that. */
static void same_path_note(struct lang_plan_chain *chain, const struct named *named, size_t count)
{
    uint32_t parent = chain->calls[named[0].call].parent;
    bool is_usable = strpbrk(named[0].path, " ()#") == NULL && named[0].call != 0;

    for (size_t i = 0; i < count; i++)
        is_usable &= chain->calls[named[i].call].parent == parent;
    if (count > 1)
        is_usable &= is_child_path(named[0].path, path_of(chain, parent));
    for (size_t i = 0; i < count; i++) {
        struct lang_plan_call *call = &chain->calls[named[i].call];

        call->nth = (uint32_t)i;
        call->is_repeated = count > 1;
        call->is_usable = is_usable;
    }
}

static void usable_find(struct lang_plan_chain *chain)
{
    struct named *named = vs_calloc(chain->call_count, sizeof(*named));

    for (uint32_t i = 0; i < chain->call_count; i++)
        named[i] = (struct named){path_of(chain, i), i};
    qsort(named, chain->call_count, sizeof(*named), by_path);
    for (size_t i = 0, next; i < chain->call_count; i = next) {
        for (next = i + 1; next < chain->call_count; next++) {
            if (strcmp(named[next].path, named[i].path) != 0)
                break;
        }
        same_path_note(chain, &named[i], next - i);
    }
    for (uint32_t i = 1; i < chain->call_count; i++) {
        const struct lang_plan_call *parent = &chain->calls[chain->calls[i].parent];
        bool is_root = chain->calls[i].parent == 0;

        if (parent->is_repeated || (!is_root && !parent->is_usable))
            chain->calls[i].is_usable = false;
    }
    vs_free(named);
}

/* ---- links ---- */

struct linker {
    struct lang_plan_chain *chain;
    struct lang_pass_event *reads; /* by block, then by section */
    size_t read_count;
    struct list {
        uint32_t *items;
        size_t count, cap;
    } * kids; /* of each call: the calls it makes, where those of transparent ones replace these */
    bool *is_transparent;
};

static int by_block(const void *a, const void *b)
{
    const struct lang_pass_event *x = a;
    const struct lang_pass_event *y = b;

    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return (x->section > y->section) - (x->section < y->section);
}

/* Whether an op reads the block in a section from `from` on, but outside of [first, end). */
static bool is_read(const struct linker *l, uint64_t block, uint32_t from, uint32_t first,
                    uint32_t end)
{
    size_t low = 0;
    size_t high = l->read_count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (l->reads[mid].block < block)
            low = mid + 1;
        else
            high = mid;
    }
    for (; low < l->read_count && l->reads[low].block == block; low++) {
        uint32_t section = l->reads[low].section;

        if (section >= from && (section < first || section >= end))
            return true;
    }
    return false;
}

/* Whether no op runs in the sections [from, end). */
static bool is_quiet(const struct lang_pass *pass, uint32_t from, uint32_t end)
{
    for (uint32_t i = from; i < end; i++) {
        if (pass->sections[i].ops > 0)
            return false;
    }
    return true;
}

static const struct lang_pass_mark *mark_in(const struct lang_plan_chain *chain, uint32_t call)
{
    return &chain->pass->marks[chain->calls[call].enter];
}

static const struct lang_pass_mark *mark_out(const struct lang_plan_chain *chain, uint32_t call)
{
    return &chain->pass->marks[chain->calls[call].exit];
}

/* Whether call b gets the output of call a, and nothing else does. */
static bool is_linked(const struct linker *l, uint32_t a, uint32_t b)
{
    const struct lang_plan_chain *chain = l->chain;
    const struct lang_plan_call *x = &chain->calls[a];
    const struct lang_plan_call *y = &chain->calls[b];
    uint64_t block = mark_out(chain, a)->output.block;
    bool is_same_block = mark_out(chain, b)->output.block == block;

    if (!x->is_usable || !y->is_usable || !is_quiet(chain->pass, x->exit, y->enter))
        return false;
    if (mark_out(chain, a)->output.id == 0 ||
        mark_in(chain, b)->input.id != mark_out(chain, a)->output.id)
        return false;
    return !is_read(l, block, x->exit, y->enter, is_same_block ? UINT32_MAX : y->exit);
}

/* Whether a call does nothing but call its children, each with the output of the one before. */
static bool is_transparent(const struct linker *l, uint32_t call)
{
    const struct lang_plan_chain *chain = l->chain;
    const struct lang_plan_call *c = &chain->calls[call];
    const struct list *kids = &l->kids[call];
    uint32_t first = kids->count ? kids->items[0] : 0;
    uint32_t last = kids->count ? kids->items[kids->count - 1] : 0;

    if (kids->count == 0 || !c->is_usable || c->is_repeated || !chain->calls[first].is_usable)
        return false;
    if (mark_in(chain, call)->input.id == 0 ||
        mark_in(chain, call)->input.id != mark_in(chain, first)->input.id ||
        mark_out(chain, call)->output.id != mark_out(chain, last)->output.id ||
        !is_quiet(chain->pass, c->enter, chain->calls[first].enter) ||
        !is_quiet(chain->pass, chain->calls[last].exit, c->exit))
        return false;
    for (size_t i = 1; i < kids->count; i++) {
        if (!is_linked(l, kids->items[i - 1], kids->items[i]))
            return false;
    }
    return true;
}

static void list_add(struct list *list, uint32_t item)
{
    list->items = vs_grow(list->items, list->count, &list->cap, sizeof(*list->items));
    list->items[list->count++] = item;
}

/* The kids of each call, from the innermost calls outwards. */
static void kids_find(struct linker *l)
{
    const struct lang_plan_chain *chain = l->chain;
    struct list *own = vs_calloc(chain->call_count, sizeof(*own));

    for (uint32_t i = 1; i < chain->call_count; i++)
        list_add(&own[chain->calls[i].parent], i);
    for (uint32_t i = (uint32_t)chain->call_count; i-- > 0;) {
        for (size_t k = 0; k < own[i].count; k++) {
            uint32_t kid = own[i].items[k];

            if (!l->is_transparent[kid])
                list_add(&l->kids[i], kid);
            for (size_t n = 0; l->is_transparent[kid] && n < l->kids[kid].count; n++)
                list_add(&l->kids[i], l->kids[kid].items[n]);
        }
        l->is_transparent[i] = i > 0 && is_transparent(l, i);
        vs_free(own[i].items);
    }
    vs_free(own);
}

/* ---- runs ---- */

static void run_add_call(struct lang_plan_run *run, uint32_t call)
{
    run->calls = vs_grow(run->calls, run->count, &run->cap, sizeof(*run->calls));
    run->calls[run->count++] = call;
}

static void runs_of(struct linker *l, uint32_t parent)
{
    struct lang_plan_chain *chain = l->chain;
    const struct list *kids = &l->kids[parent];

    for (size_t i = 0; i < kids->count; i++) {
        uint32_t kid = kids->items[i];

        if (!chain->calls[kid].is_usable)
            continue;
        if (i == 0 || !is_linked(l, kids->items[i - 1], kid)) {
            chain->runs =
                vs_grow(chain->runs, chain->run_count, &chain->run_cap, sizeof(*chain->runs));
            memset(&chain->runs[chain->run_count++], 0, sizeof(*chain->runs));
        }
        run_add_call(&chain->runs[chain->run_count - 1], kid);
    }
}

/* The runs of all calls that are not transparent: first those outside of every call of a run. */
static void runs_find(struct linker *l)
{
    struct lang_plan_chain *chain = l->chain;
    bool *is_inside = vs_calloc(chain->call_count, sizeof(*is_inside));

    for (int inner = 0; inner < 2; inner++) {
        for (uint32_t i = 0; i < chain->call_count; i++) {
            size_t from = chain->run_count;

            is_inside[i] |= is_inside[chain->calls[i].parent];
            if (l->is_transparent[i] || is_inside[i] != (inner == 1))
                continue;
            runs_of(l, i);
            for (size_t r = from; r < chain->run_count && !inner; r++) {
                for (size_t k = 0; k < chain->runs[r].count; k++)
                    is_inside[chain->runs[r].calls[k]] = true;
            }
        }
        if (!inner)
            chain->outer = chain->run_count;
    }
    vs_free(is_inside);
}

void lang_plan_chain_fill(struct lang_plan_chain *out, const struct lang_pass *pass)
{
    struct linker l = {.chain = out};

    memset(out, 0, sizeof(*out));
    out->pass = pass;
    VS_ASSERT(pass->mark_count > 0 && pass->marks[0].path);
    calls_find(out);
    usable_find(out);
    l.reads = vs_calloc(pass->read_count + 1, sizeof(*l.reads));
    l.read_count = pass->read_count;
    if (l.read_count)
        memcpy(l.reads, pass->reads, l.read_count * sizeof(*l.reads));
    qsort(l.reads, l.read_count, sizeof(*l.reads), by_block);
    l.kids = vs_calloc(out->call_count, sizeof(*l.kids));
    l.is_transparent = vs_calloc(out->call_count, sizeof(*l.is_transparent));
    kids_find(&l);
    runs_find(&l);
    for (size_t i = 0; i < out->call_count; i++)
        vs_free(l.kids[i].items);
    vs_free(l.kids);
    vs_free(l.is_transparent);
    vs_free(l.reads);
    lang_plan_stages_fill(out);
}

/* ---- text ---- */

/* The run that has both ends of a region among its cuts; sets their indices. */
static size_t run_with(const struct lang_plan_chain *chain, struct pln_region region, size_t *first,
                       size_t *end)
{
    for (size_t r = 0; r < chain->run_count; r++) {
        const struct pln_run *run = &chain->chain.runs[r];

        *first = *end = SIZE_MAX;
        for (size_t c = 0; c < run->count; c++) {
            *first = run->cuts[c] == region.first ? c : *first;
            *end = run->cuts[c] == region.end ? c : *end;
        }
        if (*first != SIZE_MAX && *end != SIZE_MAX)
            return r;
    }
    VS_ASSERT(false && "a region is not one of the chain");
    return 0;
}

static void call_text(const struct lang_plan_chain *chain, uint32_t call, struct vs_text *out)
{
    vs_text_add(out, path_of(chain, call));
    if (chain->calls[call].is_repeated)
        vs_text_addf(out, "#%u", chain->calls[call].nth);
}

/* Region number `at`, with the regions of the same run that lie inside it; these are marked as written. */
static void region_text(const struct lang_plan_chain *chain, const struct pln_plan *plan, size_t at,
                        bool *is_written, struct vs_text *out)
{
    size_t first;
    size_t end;
    size_t r = run_with(chain, plan->regions[at], &first, &end);
    const struct lang_plan_run *run = &chain->runs[r];
    size_t next = at + 1;

    is_written[at] = true;
    vs_text_add(out, plan->regions[at].is_selective ? "(selective: " : "(");
    for (size_t c = run->from[first]; c < run->from[end];) {
        size_t a = SIZE_MAX;
        size_t b = SIZE_MAX;

        vs_text_add(out, c > run->from[first] ? " " : "");
        while (next < plan->count && plan->regions[next].first < plan->regions[at].end &&
               (is_written[next] || run_with(chain, plan->regions[next], &a, &b) != r))
            next++;
        if (next < plan->count && plan->regions[next].first < plan->regions[at].end &&
            run_with(chain, plan->regions[next], &a, &b) == r && run->from[a] == c) {
            region_text(chain, plan, next, is_written, out);
            c = run->from[b];
        } else {
            call_text(chain, run->calls[c], out);
            c++;
        }
    }
    vs_text_add(out, ")");
}

void lang_plan_text(const struct lang_plan_chain *chain, const struct pln_plan *plan,
                    struct vs_text *out)
{
    bool *is_written = vs_calloc(plan->count + 1, sizeof(*is_written));
    bool is_first = true;

    for (size_t i = 0; i < plan->count; i++) {
        if (is_written[i])
            continue;
        vs_text_add(out, is_first ? "" : " ");
        is_first = false;
        region_text(chain, plan, i, is_written, out);
    }
    vs_free(is_written);
}

void lang_plan_singles_text(const struct lang_plan_chain *chain, struct vs_text *out)
{
    for (size_t r = 0; r < chain->outer; r++) {
        const struct lang_plan_run *run = &chain->runs[r];

        for (size_t c = 0; c + 1 < chain->chain.runs[r].count; c++) {
            vs_text_add(out, vs_text_get(out)[0] ? " (" : "(");
            for (size_t k = run->from[c]; k < run->from[c + 1]; k++) {
                vs_text_add(out, k > run->from[c] ? " " : "");
                call_text(chain, run->calls[k], out);
            }
            vs_text_add(out, ")");
        }
    }
}
