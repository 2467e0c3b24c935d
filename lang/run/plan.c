/*
 * lang/run/plan.c - see plan.h.
 *
 * Must not know:  how a chain is made or solved.
 * Invariant:      what is returned was run; a point of the model only says where to search.
 */
#include "lang/run/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/text.h"
#include "lang/interp/call.h"
#include "lang/run/inplace_checks.h"
#include "lang/run/plan_chain.h"
#include "lang/run/run_internal.h"
#include "planner/curve.h"

/* Steps of a run that measures: from the second one on, gradients and the optimizer's state are as they stay. */
#define STEPS_MAX 3

/* More than any device has. */
#define NO_LIMIT (UINT64_C(1) << 62)

/*
 * A placement. was_run: `run` has the figures of the run with it, and is_good says whether the net then computed the
 * same.
 */
struct point {
    bool was_run;
    bool is_good;
    struct lang_placement run;
};

/* Values of the toggle that are tried beside the model's placements: no budget is used worse than they use it. */
static const char *const SIMPLE[] = {"blocks", "selective", "sqrt"};
#define SIMPLE_COUNT (sizeof(SIMPLE) / sizeof(SIMPLE[0]))

/* A curve, from the highest peak to the lowest, and a point for each of its plans. */
struct branch {
    struct pln_curve curve;
    struct point *points;
};

/*
 * The curves that are searched, each by itself: points of one would hide points of another that the model takes for
 * worse, and with fewer points of a kind the search could find a worse one. So a kind of region that is added never
 * makes a result worse.
 */
enum branch_kind { BRANCH_PLAIN, BRANCH_SELECTIVE, BRANCH_COUNT };

/* What is known about one combination of toggles: what the pass did, its chain, the curves of that, and one point for
 * each simple value. */
struct net_plans {
    char *key;
    struct lang_pass pass;
    struct lang_plan_chain chain;
    struct branch branches[BRANCH_COUNT];
    struct point simple[SIMPLE_COUNT];
};

struct lang_plans {
    struct net_plans **items;
    size_t count;
    size_t cap;
};

struct lang_plans *lang_plans_new(void)
{
    return vs_calloc(1, sizeof(struct lang_plans));
}

void lang_placement_release(struct lang_placement *placement)
{
    vs_free(placement->text);
    memset(placement, 0, sizeof(*placement));
}

static void branch_release(struct branch *branch)
{
    for (size_t i = 0; i < branch->curve.count; i++)
        lang_placement_release(&branch->points[i].run);
    vs_free(branch->points);
    pln_curve_release(&branch->curve);
}

static void net_plans_free(struct net_plans *plans)
{
    if (!plans)
        return;
    for (size_t b = 0; b < BRANCH_COUNT; b++)
        branch_release(&plans->branches[b]);
    for (size_t i = 0; i < SIMPLE_COUNT; i++)
        lang_placement_release(&plans->simple[i].run);
    lang_plan_chain_release(&plans->chain);
    lang_pass_release(&plans->pass);
    vs_free(plans->key);
    vs_free(plans);
}

void lang_plans_free(struct lang_plans *plans)
{
    if (!plans)
        return;
    for (size_t i = 0; i < plans->count; i++)
        net_plans_free(plans->items[i]);
    vs_free(plans->items);
    vs_free(plans);
}

/* ---- runs of the net ---- */

static void ignore_print(void *user, const char *text, size_t len)
{
    (void)user, (void)text, (void)len;
}

/* Runs the net on meta with a placement. *pass is zeroed; the caller releases it, also after a failure. */
static enum vs_status run_with(const struct lang_settings *settings, const char *placement,
                               bool is_marked, struct lang_pass *pass,
                               struct lang_placement *figures, struct vs_error *err)
{
    struct eng_observer observer = lang_pass_observer(pass);
    struct lang_run_nested nested = {placement, is_marked ? pass : NULL};
    struct lang_settings copy = {.file_name = settings->file_name,
                                 .text = settings->text,
                                 .len = settings->len,
                                 .observer = &observer,
                                 .capacity = NO_LIMIT,
                                 .seed = settings->seed,
                                 .library = settings->library,
                                 .inplace_checks = settings->inplace_checks,
                                 .plans = settings->plans,
                                 .skips = settings->skips,
                                 .skip_count = settings->skip_count,
                                 .workspaces = settings->workspaces,
                                 .formula = settings->formula,
                                 .user = settings->user,
                                 .stop = settings->stop,
                                 .print = ignore_print};
    struct vs_toggles toggles = {{NULL}};
    struct lang_result result = {0};
    char steps[32];
    enum vs_status st;

    vs_toggles_copy(&toggles, settings->toggles);
    snprintf(steps, sizeof(steps), "%d", STEPS_MAX);
    st = vs_toggles_set(&toggles, VS_TOGGLE_CHECKPOINT, "auto", err);
    if (!st && vs_toggles_count(&toggles, VS_TOGGLE_STEPS) > STEPS_MAX)
        st = vs_toggles_set(&toggles, VS_TOGGLE_STEPS, steps, err);
    copy.toggles = &toggles;
    if (!st)
        st = lang_run_nested(&copy, &nested, &result, err);
    if (!st)
        *figures = (struct lang_placement){result.peak_allocated, result.recompute_flops,
                                           result.total_flops, vs_strdup(placement)};
    lang_result_release(&result);
    vs_toggles_release(&toggles);
    return st;
}

/* Measures the net and solves its chain. */
static enum vs_status plans_fill(struct net_plans *plans, const struct lang_settings *settings,
                                 struct vs_error *err)
{
    struct lang_pass *pass = &plans->pass;
    struct lang_pass dropped;
    struct lang_placement figures = {0};
    struct vs_text singles = {NULL, 0, 0};
    enum vs_status st;

    memset(&dropped, 0, sizeof(dropped));
    st = run_with(settings, "", true, pass, &figures, err);
    if (!st && (pass->mark_count == 0 || !pass->marks[0].path))
        st = vs_fail(err, VS_E_VALUE, "the net is not called in a training step");
    if (st)
        goto out;
    lang_placement_release(&figures);
    lang_plan_chain_fill(&plans->chain, pass);
    lang_plan_singles_text(&plans->chain, &singles);
    st = run_with(settings, vs_text_get(&singles), true, &dropped, &figures, err);
    if (st)
        goto out;
    if (dropped.ops_hash == pass->ops_hash)
        lang_plan_chain_drop(&plans->chain, &dropped);
    pln_curve_fill(&plans->branches[BRANCH_PLAIN].curve, &plans->chain.chain);
    pln_curve_fill_selective(&plans->branches[BRANCH_SELECTIVE].curve, &plans->chain.chain);
    for (size_t b = 0; b < BRANCH_COUNT; b++)
        plans->branches[b].points =
            vs_calloc(plans->branches[b].curve.count + 1, sizeof(struct point));
out:
    vs_text_release(&singles);
    lang_placement_release(&figures);
    lang_pass_release(&dropped);
    return st;
}

/* All toggles but `checkpoint`. */
static char *key_of(const struct vs_toggles *toggles)
{
    struct vs_text key = {NULL, 0, 0};
    char *copy;

    for (int i = 0; i < VS_TOGGLE_COUNT; i++) {
        if (i != VS_TOGGLE_CHECKPOINT)
            vs_text_addf(&key, "%s\n", vs_toggles_get(toggles, (enum vs_toggle)i));
    }
    copy = vs_strdup(vs_text_get(&key));
    vs_text_release(&key);
    return copy;
}

static enum vs_status plans_of(const struct lang_settings *settings, struct net_plans **out,
                               struct vs_error *err)
{
    struct lang_plans *all = settings->plans;
    struct net_plans *plans = vs_calloc(1, sizeof(*plans));
    enum vs_status st = VS_OK;

    plans->key = key_of(settings->toggles);
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->items[i]->key, plans->key) == 0) {
            *out = all->items[i];
            goto out;
        }
    }
    st = plans_fill(plans, settings, err);
    if (st)
        goto out;
    all->items = vs_grow(all->items, all->count, &all->cap, sizeof(struct net_plans *));
    all->items[all->count++] = plans;
    *out = plans;
    plans = NULL; /* handed over */
out:
    net_plans_free(plans);
    return st;
}

/* ---- the search ---- */

static void point_text(const struct net_plans *plans, const struct point *point,
                       struct vs_text *out)
{
    if (point >= plans->simple && point < plans->simple + SIMPLE_COUNT) {
        vs_text_add(out, SIMPLE[point - plans->simple]);
        return;
    }
    for (size_t b = 0; b < BRANCH_COUNT; b++) {
        const struct branch *branch = &plans->branches[b];

        if (point >= branch->points && point < branch->points + branch->curve.count)
            lang_plan_text(&plans->chain, &branch->curve.points[point - branch->points], out);
    }
}

/*
 * The peak of a point, from a run with it: UINT64_MAX where the net then fails or computes something else. Fails only
 * where the run was stopped.
 */
static enum vs_status peak_of(const struct net_plans *plans, struct point *point,
                              const struct lang_settings *settings, uint64_t *peak,
                              struct vs_error *err)
{
    struct vs_error why = VS_ERROR_INIT;

    if (!point->was_run) {
        struct vs_text text = {NULL, 0, 0};
        struct lang_pass pass;

        memset(&pass, 0, sizeof(pass));
        point_text(plans, point, &text);
        if (!run_with(settings, vs_text_get(&text), false, &pass, &point->run, &why))
            point->is_good = pass.ops_hash == plans->pass.ops_hash;
        lang_pass_release(&pass);
        vs_text_release(&text);
        if (why.status == VS_E_STOPPED)
            return vs_fail(err, VS_E_STOPPED, "%s", why.text);
        point->was_run = true;
    }
    *peak = point->is_good ? point->run.peak : UINT64_MAX;
    return VS_OK;
}

/* Where the peaks of the model are not exact, one of so many points at the end of the curve has the least. */
#define LAST_POINTS 4

/* Sets *out to the point and *least to its peak where that is lower. */
static enum vs_status lower(const struct net_plans *plans, struct point *point,
                            const struct lang_settings *settings, uint64_t *least,
                            const struct point **out, struct vs_error *err)
{
    uint64_t peak = UINT64_MAX;
    enum vs_status st = peak_of(plans, point, settings, &peak, err);

    if (!st && peak < *least) {
        *least = peak;
        *out = point;
    }
    return st;
}

/* The point with the least peak; NULL: the net fails with all of them. */
static enum vs_status least_peak(struct net_plans *plans, const struct lang_settings *settings,
                                 const struct point **out, struct vs_error *err)
{
    uint64_t least = UINT64_MAX;
    enum vs_status st = VS_OK;

    *out = NULL;
    for (size_t i = 0; i < SIMPLE_COUNT && !st; i++)
        st = lower(plans, &plans->simple[i], settings, &least, out, err);
    for (size_t b = 0; b < BRANCH_COUNT; b++) {
        struct branch *branch = &plans->branches[b];

        for (size_t i = 1; i <= LAST_POINTS && i <= branch->curve.count && !st; i++)
            st = lower(plans, &branch->points[branch->curve.count - i], settings, &least, out, err);
    }
    return st;
}

/* Whether a point that was looked at is within the budget. */
static bool is_within(const struct point *point, uint64_t budget)
{
    return point->is_good && point->run.peak <= budget;
}

/*
 * Sets *out to the point where it is within the budget and cheaper than *out, which may be NULL. The first one of equal
 * points stays.
 */
static enum vs_status consider(const struct net_plans *plans, struct point *point,
                               const struct lang_settings *settings, uint64_t budget,
                               const struct point **out, struct vs_error *err)
{
    uint64_t peak;
    enum vs_status st = peak_of(plans, point, settings, &peak, err);

    if (!st && is_within(point, budget) &&
        (!*out || point->run.recompute_flops < (*out)->run.recompute_flops))
        *out = point;
    return st;
}

/* The search looks at points so many apart, and then at every STEP-th between two of them. */
#define STEP 4

/* The largest power of STEP of which there are at least 8 in `last`, or 1. */
static size_t first_stride(size_t last)
{
    size_t stride = 1;

    while (stride * STEP * 8 <= last)
        stride *= STEP;
    return stride;
}

/*
 * Looks for the cheapest point of a branch within `budget`, of those before number `to`, and sets *out to it where it
 * is cheaper. Goes through the points in strides up to the first one that is within the budget, and then in smaller
 * ones from the one before. As arithmetic rises from point to point, a larger budget never gets a point with more of
 * it, although peaks may be out of order.
 */
static enum vs_status branch_search(const struct net_plans *plans, const struct branch *branch,
                                    size_t to, const struct lang_settings *settings,
                                    uint64_t budget, const struct point **out, struct vs_error *err)
{
    size_t last = branch->curve.count - 1;
    size_t end = to;
    size_t before = 0; /* the last point that was looked at and is not within the budget */
    bool is_any = false;
    enum vs_status st;

    if (to == 0)
        return VS_OK;
    st = consider(plans, &branch->points[0], settings, budget, out, err);
    if (is_within(&branch->points[0], budget))
        return st;
    to = to < last ? to : last;
    for (size_t stride = first_stride(last); stride > 0; stride /= STEP) {
        for (size_t at = before + stride; at < to && !st; at += stride) {
            st = consider(plans, &branch->points[at], settings, budget, out, err);
            if (is_within(&branch->points[at], budget)) {
                is_any = true;
                to = at;
            } else {
                before = at;
            }
        }
    }
    if (!st && !is_any && end > last)
        st = consider(plans, &branch->points[last], settings, budget, out, err);
    return st;
}

/* How many points of a branch have less arithmetic than the point `found` of another one; all where it is NULL. */
static size_t cheaper_count(const struct branch *branch, const struct branch *other,
                            const struct point *found)
{
    size_t count = 0;

    while (count < branch->curve.count &&
           (!found ||
            branch->curve.points[count].flops < other->curve.points[found - other->points].flops))
        count++;
    return count;
}

/* The cheapest point within `budget`; NULL: none was found. */
static enum vs_status cheapest(struct net_plans *plans, const struct lang_settings *settings,
                               uint64_t budget, const struct point **out, struct vs_error *err)
{
    const struct branch *plain = &plans->branches[BRANCH_PLAIN];
    const struct branch *selective = &plans->branches[BRANCH_SELECTIVE];
    enum vs_status st;

    *out = NULL;
    st = branch_search(plans, plain, plain->curve.count, settings, budget, out, err);
    if (!st)
        st = branch_search(plans, selective, cheaper_count(selective, plain, *out), settings,
                           budget, out, err);
    for (size_t i = 0; i < SIMPLE_COUNT && !st; i++)
        st = consider(plans, &plans->simple[i], settings, budget, out, err);
    return st;
}

enum vs_status lang_plan_find(const struct lang_settings *settings, uint64_t budget,
                              struct lang_placement *out, struct vs_error *err)
{
    struct net_plans *plans = NULL;
    const struct point *least = NULL;
    const struct point *point = NULL;
    enum vs_status st = plans_of(settings, &plans, err);

    memset(out, 0, sizeof(*out));
    if (!st && budget == LANG_PLAN_LEAST) {
        st = least_peak(plans, settings, &least, err);
        budget = least ? least->run.peak : 0;
    }
    if (!st)
        st = cheapest(plans, settings, budget, &point, err);
    /* At the end of the curve, peaks may be out of order. */
    if (!st && !point && !least)
        st = least_peak(plans, settings, &least, err);
    if (!st && !point && least && least->run.peak <= budget)
        point = least;
    if (st)
        return st;
    if (!point) {
        uint64_t bytes = least ? least->run.peak : 0;
        char a[VS_BYTES_TEXT_MAX];
        char b[VS_BYTES_TEXT_MAX];

        return vs_fail(err, VS_E_VALUE,
                       "no placement of checkpoints keeps the peak within %s; the least is %s "
                       "(%" PRIu64 " bytes): checkpoint=auto",
                       vs_bytes_text(budget, a), vs_bytes_text(bytes, b), bytes);
    }
    *out = point->run;
    out->text = vs_strdup(out->text);
    return VS_OK;
}

/* ---- functions for the prelude ---- */

bool lang_run_placement(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    struct lang_run_state *run = call->builtin->closure.as.opaque->data;
    const char *value = vs_toggles_get(&run->result->toggles, VS_TOGGLE_CHECKPOINT);
    struct lang_settings settings = *run->settings;
    struct lang_placement found;
    struct vs_error err = VS_ERROR_INIT;
    uint64_t budget = LANG_PLAN_LEAST;

    if (!lang_args_exact(vm, call, "_placement", 0))
        return false;
    if (strchr(value, ':') && !vs_bytes_parse(strchr(value, ':') + 1, &budget))
        return lang_fail(vm, VS_E_VALUE, "checkpoint=%s: no size", value);
    settings.toggles = &run->result->toggles;
    if (lang_plan_find(&settings, budget, &found, &err))
        return lang_fail(vm, err.status, err.status == VS_E_VALUE ? "checkpoint=%s: %s" : "%s%s",
                         err.status == VS_E_VALUE ? value : "", err.text);
    *out = lang_value_str(vm, found.text);
    lang_placement_release(&found);
    return true;
}

static const struct eng_tensor *tensor_of(struct lang_value v)
{
    return v.kind == LANG_TENSOR ? v.as.tensor : NULL;
}

bool lang_run_plan_enter(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct lang_run_state *run = call->builtin->closure.as.opaque->data;

    if (!lang_args_exact(vm, call, "_plan_enter", 2))
        return false;
    if (run->nested && run->nested->pass)
        lang_pass_enter(run->nested->pass, lang_value_text(call->args[0]),
                        tensor_of(call->args[1]));
    *out = lang_none();
    return true;
}

bool lang_run_plan_exit(struct lang_vm *vm, const struct lang_call *call, struct lang_value *out)
{
    const struct lang_run_state *run = call->builtin->closure.as.opaque->data;

    if (!lang_args_exact(vm, call, "_plan_exit", 2))
        return false;
    if (run->nested && run->nested->pass)
        lang_pass_exit(run->nested->pass, tensor_of(call->args[0]), tensor_of(call->args[1]));
    *out = lang_none();
    return true;
}
