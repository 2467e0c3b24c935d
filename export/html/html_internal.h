/*
 * export/html/html_internal.h - the data of an HTML report, as members of one JSON object.
 *
 * For:            html.c, which writes the page around them.
 * Must not know:  how the page shows the data (page.js).
 * Invariant:      what is written is bounded by the constants below, however long the trace is.
 */
#ifndef EXP_HTML_INTERNAL_H
#define EXP_HTML_INTERNAL_H

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "export/export.h"
#include "replay/index/cursor.h"
#include "replay/report/summary.h"

/*
 * Columns of the whole run, and of the step that has the peak, which is written as well where a column of the whole run
 * has several events.
 */
#define HTML_COLUMNS 2048
#define HTML_STEP_COLUMNS 4096
/* The most what-ifs. */
#define HTML_WHATIFS_MAX 100
/* Blocks: of each of three choices the largest (html_blocks.c). */
#define HTML_BLOCKS 1000
/* Changes of its category that are written of a block. */
#define HTML_CHANGES_MAX 8
/* Rows of the table of blocks at the peak; lines of the net, modules and steps. */
#define HTML_PEAK_ROWS 100
#define HTML_LINES_MAX 400
#define HTML_MODULES_MAX 400
#define HTML_STEPS_MAX 1000
/* Bytes of the net file; a longer one is left out. */
#define HTML_SOURCE_MAX 400000

/*
 * The report that is being written. sum: figures of the trace; cursor: at the peak, or at event 0 if nothing was
 * allocated; late: where the optimizer begins in the step of the peak, so that gradients and states of the optimizer
 * are alive, or where `cursor` is; step_first, step_last: the events of the step with the peak. The pointers are
 * borrowed.
 */
struct html {
    struct rpl_index *index;
    struct rpl_trace *trace;
    const struct rpl_summary *sum;
    const struct exp_options *options;
    struct rpl_cursor *cursor;
    struct rpl_cursor *late;
    struct vs_json *json;
    uint64_t step_first;
    uint64_t step_last;
};

/* Write the member "ranges": the timeline. Errors: those of reading the trace. */
VS_MUST_USE enum vs_status exp_html_ranges(struct html *html, struct vs_error *err);
/* Write the member "whatifs". */
void exp_html_whatifs(struct html *html);
/* Write the members "blocks" and "at_peak". Reads the events once. Errors: those of reading the trace. */
VS_MUST_USE enum vs_status exp_html_blocks(struct html *html, struct vs_error *err);
/* Write the members "lines", "modules" and "source". Errors: those of reading the trace. */
VS_MUST_USE enum vs_status exp_html_code(struct html *html, struct vs_error *err);

#endif
