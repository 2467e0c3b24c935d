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
