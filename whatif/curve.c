/*
 * whatif/curve.c - see curve.h.
 *
 * Must not know:  how a placement is found.
 * Invariant:      a budget is written as the toggle writes it, without rounding.
 */
#include "whatif/curve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "replay/diff/compare.h"
#include "replay/inspect/modules.h"

void wif_curve_release(struct wif_curve *curve)
{
    for (size_t i = 0; i < curve->count; i++)
        wif_placement_release(&curve->points[i].placement);
    for (size_t i = 0; i < curve->offload_count; i++)
        vs_free(curve->offloads[i].value);
    vs_free(curve->offloads);
    vs_free(curve->points);
    memset(curve, 0, sizeof(*curve));
}

/* Takes the placement. It is dropped where the last point has the same peak already. */
static void point_add(struct wif_curve *curve, uint64_t budget, const char *value,
                      struct wif_placement *placement)
{
    struct wif_point *point;

    if (curve->count > 0 && curve->points[curve->count - 1].placement.peak <= placement->peak) {
        wif_placement_release(placement);
        return;
    }
    curve->points = vs_grow(curve->points, curve->count, &curve->cap, sizeof(*curve->points));
    point = &curve->points[curve->count++];
    *point = (struct wif_point){.budget = budget, .placement = *placement};
    snprintf(point->value, sizeof(point->value), "%s", value);
    memset(placement, 0, sizeof(*placement));
}

/* A budget that is short to write: whole MiB where the curve spans many of them, else whole KiB. */
static uint64_t rounded(uint64_t bytes, uint64_t range, size_t points)
{
    uint64_t unit = range / points > UINT64_C(8) << 20 ? UINT64_C(1) << 20 : UINT64_C(1) << 10;

    return bytes / unit * unit;
}

enum vs_status wif_curve_fill(struct wif_curve *out, struct rpl_trace *base,
                              const struct vs_toggles *set, size_t points,
                              rpl_progress_fn *progress, void *user, struct vs_error *err)
{
    struct wif_placement off = {0};
    struct wif_placement least = {0};
    uint64_t low;
    uint64_t range;
    enum vs_status st;

    VS_ASSERT(points >= 2);
    memset(out, 0, sizeof(*out));
    st = wif_place(base, set, WIF_BUDGET_ANY, progress, user, &off, err);
    if (!st)
        st = wif_place(base, set, WIF_BUDGET_LEAST, progress, user, &least, err);
    low = least.peak;
    range = off.peak - low;
    if (!st)
        point_add(out, off.peak, "off", &off);
    for (size_t i = points - 1; i-- > 1 && !st;) {
        uint64_t budget = rounded(low + range / (points - 1) * i, range, points);
        struct wif_placement placement = {0};
        struct vs_toggles value = {{NULL}};
        char text[64];

        if (budget < low)
            continue;
        snprintf(text, sizeof(text), "auto:%" PRIu64, budget);
        st = vs_toggles_set(&value, VS_TOGGLE_CHECKPOINT, text, err);
        if (!st)
            st = wif_place(base, set, budget, progress, user, &placement, err);
        if (!st)
            point_add(out, budget, vs_toggles_get(&value, VS_TOGGLE_CHECKPOINT), &placement);
        vs_toggles_release(&value);
    }
    if (!st)
        point_add(out, low, "auto", &least);
    wif_placement_release(&off);
    wif_placement_release(&least);
    return st;
}

/* ---- copies to the host ---- */

/*
 * What the first modules save is held the longest, so the first ones are offloaded: the modules of the net in the order
 * in which they run, a block of a Sequential or ModuleList as one.
 */

/* Points between nothing and the whole forward. */
#define PARTS 8

/* Whether the module is an element of a list: its name is a number. */
static bool is_element(const struct rpl_module *module)
{
    const char *name = module->name;

    return *name && name[strspn(name, "0123456789")] == '\0';
}

/*
 * Whether the module is offloaded as a whole: a block, or one outside of all lists. Sets *skip to the number of modules
 * below it that belong to it.
 */
static bool is_unit(const struct rpl_module *module, size_t *skip)
{
    bool has_elements = false;

    *skip = 0;
    for (size_t i = 1; i <= module->below; i++)
        has_elements |= is_element(module + i);
    if (!*module->path || (has_elements && !is_element(module)))
        return false;
    *skip = module->below;
    return true;
}

/* How many units lie in `module` and below it. */
static size_t units_of(const struct rpl_module *module)
{
    size_t count = 0;
    size_t skip;

    for (size_t i = 0; i <= module->below; i += skip + 1)
        count += is_unit(module + i, &skip);
    return count;
}

/* The paths of the first `units` units, with commas; a module whose units are all among them stands for these. */
static void value_text(const struct rpl_module *modules, size_t units, struct vs_text *out)
{
    for (size_t i = 1; i <= modules->below && units > 0; i++) {
        size_t inside = units_of(&modules[i]);

        if (inside == 0 || inside > units)
            continue;
        vs_text_addf(out, "%s%s", out->len ? "," : "", modules[i].path);
        units -= inside;
        i += modules[i].below;
    }
}

/*
 * Runs the net with a value of `offload`, and adds the point where its peak is lower than all before. A net that does
 * not run with it has no such point.
 */
static enum vs_status value_run(struct wif_curve *curve, struct rpl_trace *base,
                                const struct vs_toggles *set, const char *value,
                                rpl_progress_fn *progress, void *user, struct vs_error *err)
{
    struct rpl_trace *memory = rpl_trace_new();
    struct rpl_index *index = NULL;
    struct vs_toggles with = {{NULL}};
    struct wif_offload_point point = {.peak = 0};
    struct vs_error why = VS_ERROR_INIT;
    struct rpl_run run;
    uint64_t least = curve->points[0].placement.peak;
    enum vs_status st;

    if (set)
        vs_toggles_copy(&with, set);
    st = vs_toggles_set(&with, VS_TOGGLE_CHECKPOINT, "off", &why);
    if (!st)
        st = vs_toggles_set(&with, VS_TOGGLE_OFFLOAD, value, &why);
    if (!st)
        st = wif_run_observed(base, &with, WIF_NO_LIMIT, progress, user, memory, &why);
    if (!st)
        st = rpl_index_open(memory, NULL, NULL, &index, &why);
    if (!st)
        st = rpl_run_fill(&run, index, &why);
    if (curve->offload_count > 0)
        least = curve->offloads[curve->offload_count - 1].peak;
    if (!st && run.peak < least && rpl_trace_meta_uint(memory, "host_bytes", &point.host_bytes)) {
        point.value = vs_strdup(value);
        point.peak = run.peak;
        point.recompute_flops = run.recompute_flops;
        point.total_flops = run.flops;
        curve->offloads = vs_grow(curve->offloads, curve->offload_count, &curve->offload_cap,
                                  sizeof(*curve->offloads));
        curve->offloads[curve->offload_count++] = point;
    }
    rpl_index_free(index);
    vs_toggles_release(&with);
    rpl_trace_free(memory);
    return st == VS_E_STOPPED ? vs_fail(err, st, "%s", why.text) : VS_OK;
}

/* The steps of a run, and whether it leaves nothing to offload: because it does so already, or keeps nothing. */
static enum vs_status settings_read(const struct rpl_trace *base, const struct vs_toggles *set,
                                    uint64_t *steps, bool *is_none, struct vs_error *err)
{
    struct vs_toggles now = {{NULL}};
    enum vs_status st = wif_toggles(base, &now, err);

    for (size_t i = 0; i < VS_TOGGLE_COUNT && !st && set; i++)
        if (vs_toggles_is_set(set, (enum vs_toggle)i))
            st = vs_toggles_set(&now, (enum vs_toggle)i, vs_toggles_get(set, (enum vs_toggle)i),
                                err);
    *steps = st ? 0 : vs_toggles_count(&now, VS_TOGGLE_STEPS);
    *is_none = st || strcmp(vs_toggles_get(&now, VS_TOGGLE_OFFLOAD), "off") != 0 ||
               strcmp(vs_toggles_get(&now, VS_TOGGLE_GRAD), "no_grad") == 0;
    vs_toggles_release(&now);
    return st;
}

enum vs_status wif_curve_offload(struct wif_curve *curve, struct rpl_trace *base,
                                 const struct vs_toggles *set, rpl_progress_fn *progress,
                                 void *user, struct vs_error *err)
{
    struct rpl_index *index = NULL;
    struct rpl_modules *modules = NULL;
    const struct rpl_module *all = NULL;
    size_t count = 0;
    size_t units = 0;
    size_t last = 0;
    bool is_none = true;
    enum vs_status st = settings_read(base, set, &curve->steps, &is_none, err);

    if (st || is_none || curve->count == 0)
        return st;
    st = rpl_index_open(base, NULL, NULL, &index, err);
    if (!st)
        st = rpl_modules_new(index, &modules, err);
    if (!st) {
        all = rpl_modules_all(modules, &count);
        units = count > 0 ? units_of(all) : 0;
    }
    for (size_t part = 1; part < PARTS && !st; part++) {
        size_t first = (units * part + PARTS - 1) / PARTS;
        struct vs_text value = {NULL, 0, 0};

        if (first > last && first < units)
            value_text(all, first, &value);
        if (value.len > 0 && value.len < VS_TOGGLE_VALUE_MAX)
            st = value_run(curve, base, set, vs_text_get(&value), progress, user, err);
        last = first;
        vs_text_release(&value);
    }
    if (!st)
        st = value_run(curve, base, set, "activations", progress, user, err);
    rpl_modules_free(modules);
    rpl_index_free(index);
    return st;
}
