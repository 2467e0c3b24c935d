/*
 * whatif/grid/pool.h - runs many configurations of a sweep in several processes.
 *
 * For:            `vramscope sweep`.
 * Must not know:  files of results, what a run is.
 * Invariant:      when wif_grid_pool_run returns, its processes have ended; whatever ends one of them becomes the
 *                 result of the configuration that it was running.
 */
#ifndef WIF_GRID_POOL_H
#define WIF_GRID_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/sweep/results.h"

/* How many processes: as many as this process may use cores. */
size_t wif_grid_pool_cores(void);

#define WIF_GRID_WORKERS_MAX 256

/*
 * workers  number of processes, 1 to WIF_GRID_WORKERS_MAX
 * run      called in one of the processes: run configuration number `config`
 * done     called in this one with each result, in the order in which they come; a status other than VS_OK ends the
 *          sweep
 * goes_on  called at least five times a second; false ends the sweep. NULL: it is not ended
 */
struct wif_grid_pool {
    size_t workers;
    void (*run)(void *user, size_t config, struct sto_result *out);
    enum vs_status (*done)(void *user, size_t config, const struct sto_result *result,
                           struct vs_error *err);
    bool (*goes_on)(void *user);
    void *user;
};

/*
 * Run the configurations items[0] to items[count - 1]. VS_E_STOPPED: goes_on returned false. VS_E_IO: no process can be
 * started. Others: those of `done`.
 */
VS_MUST_USE enum vs_status wif_grid_pool_run(const struct wif_grid_pool *pool, const size_t *items,
                                             size_t count, struct vs_error *err);

#endif
