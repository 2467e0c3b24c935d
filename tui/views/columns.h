/*
 * tui/views/columns.h - the columns of a timeline, computed again only where they would be others.
 *
 * For:            view_timeline.c; most keys move neither the window nor the ends of the run.
 * Must not know:  how columns are drawn.
 * Invariant:      what is in `out` is what computing it anew would give.
 */
#ifndef TUI_COLUMNS_H
#define TUI_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "replay/index/timeline.h"

struct tui_run;

/*
 * Events first … last in `count` columns, equally wide in time (is_by_time, where the events have times) or in events;
 * events of the set-up, where they are more than their share, in the first `setup` columns.
 */
struct tui_columns {
    uint64_t first;
    uint64_t last;
    int count;
    int setup;
    bool is_by_time;
};

/* Of what an array of columns was computed; zeroed: of nothing. */
struct tui_columns_made {
    const struct rpl_index *index;
    uint64_t number;
    uint64_t events;
    uint64_t setup_last;
    struct tui_columns of;
};

/* Fills out[want.count] unless `made` says that it has just these. VS_E_*: as reading the trace; `out` is not valid. */
VS_MUST_USE enum vs_status tui_columns_fill(const struct tui_run *run, struct tui_columns want,
                                            struct tui_columns_made *made, struct rpl_column *out,
                                            struct vs_error *err);

#endif
