/*
 * cli/curve.h - the peak over the values of a toggle that is a count, and the line through them.
 *
 * For:            `vramscope whatif --curve`.
 * Must not know:  how a run is made (whatif/whatif.h).
 * Invariant:      each point is a run of the net, not an estimate; only the line is.
 */
#ifndef CLI_CURVE_H
#define CLI_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "base/toggle.h"
#include "replay/trace/trace.h"

#define CLI_CURVE_POINTS_MAX 6

/* A value and the highest bytes of the run with it. failed: the net cannot be run so; the others are 0 then. */
struct cli_curve_point {
    uint64_t value;
    uint64_t allocated;
    uint64_t reserved;
    bool failed;
};

/*
 * points    point_count of them, by value: an eighth of the recorded one to four times it
 * slope     bytes for each unit, constant: bytes at 0, of the line that fits the points best (least squares)
 * off       largest distance of a point from the line, as a share of the point's bytes
 */
struct cli_curve {
    enum vs_toggle toggle;
    struct cli_curve_point points[CLI_CURVE_POINTS_MAX];
    size_t point_count;
    double slope;
    double constant;
    double off;
};

/*
 * Run the net of `base` with `set` and values of the toggle called `name`, on a device without a limit.
 *
 * VS_E_USAGE: there is no such toggle, or it is no count. VS_E_VALUE: fewer than two values can be run. Others: as
 * wif_run.
 */
VS_MUST_USE enum vs_status cli_curve_fill(struct cli_curve *out, struct rpl_trace *base,
                                          const struct vs_toggles *set, const char *name,
                                          struct vs_error *err);
void cli_curve_text(const struct cli_curve *curve, struct vs_text *out);
void cli_curve_json(const struct cli_curve *curve, struct vs_text *out);
/* The three in one: fills a curve and appends it as text or JSON. Errors: as cli_curve_fill. */
VS_MUST_USE enum vs_status cli_curve_print(struct rpl_trace *base, const struct vs_toggles *set,
                                           const char *name, bool json, struct vs_text *out,
                                           struct vs_error *err);

#endif
