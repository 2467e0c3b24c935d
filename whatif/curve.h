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

/*
 * A point without checkpoints that copies what some modules save to the host in forward, and back in backward.
 * value: of the toggle `offload`; owned. peak in bytes; *_flops and host_bytes, in both directions, of all steps.
 */
struct wif_offload_point {
    char *value;
    uint64_t peak;
    uint64_t recompute_flops;
    uint64_t total_flops;
    uint64_t host_bytes;
};

/*
 * From the highest peak to the lowest; no two points have the same one. offloads: likewise, once wif_curve_offload has
 * found them; steps: of these runs.
 */
struct wif_curve {
    struct wif_point *points;
    size_t count;
    size_t cap;
    struct wif_offload_point *offloads;
    size_t offload_count;
    size_t offload_cap;
    uint64_t steps;
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

/*
 * Add the points with copies to the host to a filled curve: up to eight runs, of which each offloads an eighth of the
 * modules more, the first ones of the forward first, and the last one all of it. None where the net offloads already or
 * keeps nothing.
 *
 * VS_E_STOPPED: progress returned false. Others: those of reading the trace.
 */
VS_MUST_USE enum vs_status wif_curve_offload(struct wif_curve *curve, struct rpl_trace *base,
                                             const struct vs_toggles *set,
                                             rpl_progress_fn *progress, void *user,
                                             struct vs_error *err);
void wif_curve_release(struct wif_curve *curve);

#endif
