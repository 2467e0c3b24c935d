/*
 * whatif/curve.h - peak against recomputation: what checkpoint=auto gives for budgets between the least peak and that
 * without checkpoints.
 *
 * For:            `vramscope advise --curve`, the TUI's view of it.
 * Must not know:  how a placement is found, how the curve is shown.
 * Invariant:      each point is a run: recording with checkpoint=auto and its budget has its peak.
 */
#ifndef WIF_CURVE_H
#define WIF_CURVE_H

#include "whatif/whatif.h"

/*
 * A point. budget: bytes, of which value is the toggle's value: "auto:1280M", or "off" for the first point and "auto"
 * for the last one.
 */
struct wif_point {
    uint64_t budget;
    char value[64];
    struct wif_placement placement;
};

/* From the highest peak to the lowest; no two points have the same one. */
struct wif_curve {
    struct wif_point *points;
    size_t count;
    size_t cap;
};

/* Points that a curve has at most, unless another number is asked for. */
#define WIF_CURVE_POINTS 16

/*
 * Fill *out (zeroed or released) with the curve of the net of `base`, with `set` over its toggles: budgets at equal
 * distances, `points` (>= 2) with both ends. The caller releases it, also after a failure.
 *
 * Errors: those of wif_place.
 */
VS_MUST_USE enum vs_status wif_curve_fill(struct wif_curve *out, struct rpl_trace *base,
                                          const struct vs_toggles *set, size_t points,
                                          rpl_progress_fn *progress, void *user,
                                          struct vs_error *err);
void wif_curve_release(struct wif_curve *curve);

#endif
