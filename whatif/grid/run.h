/*
 * whatif/grid/run.h - runs a net with one configuration of a sweep, without data and without events.
 *
 * For:            whatif/grid/pool.c, tests.
 * Must not know:  files of results, processes.
 * Invariant:      the figures are those of a recording with these toggles, to the byte.
 */
#ifndef WIF_GRID_RUN_H
#define WIF_GRID_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/toggle.h"
#include "store/sweep/results.h"

/* The net file and the device; all is borrowed. capacity: bytes; 0: unlimited, or that of a target. */
struct wif_grid_net {
    const char *file_name;
    const char *text;
    size_t len;
    uint64_t seed;
    uint64_t capacity;
};

/* What runs of one net share: the parsed library, in-place checks and placements that are known. */
struct wif_grid_runner;

/* `net` must outlive the runner. VS_E_SYNTAX: the standard library is wrong. */
VS_MUST_USE enum vs_status wif_grid_runner_new(const struct wif_grid_net *net,
                                               struct wif_grid_runner **out, struct vs_error *err);
void wif_grid_runner_free(struct wif_grid_runner *runner);

/*
 * Run with these toggles and fill `out`. Does not fail: that it cannot be run is a result. What does not fit is run
 * once more on a device without a limit.
 */
void wif_grid_run(struct wif_grid_runner *runner, const struct vs_toggles *toggles,
                  struct sto_result *out);

#endif
