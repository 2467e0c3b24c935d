/*
 * cli/lesson/run.h - runs the nets of a lesson on `meta` and reads figures from the traces.
 *
 * For:            cli/lesson/answer.c, the pictures, the TUI.
 * Must not know:  verdicts, texts.
 * Invariant:      run i of the lesson is run i here; each is a recording as `vramscope record` would make it.
 */
#ifndef CLI_LESSON_RUN_H
#define CLI_LESSON_RUN_H

#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/lesson/expr.h"
#include "cli/lesson/lesson.h"
#include "replay/report/parameters.h"
#include "replay/report/summary.h"
#include "replay/report/traffic.h"
#include "replay/trace/trace.h"

/* base: the net before it ran; trace: the run; printed: what the net printed. All owned. */
struct cli_lesson_trace {
    struct rpl_trace *base;
    struct rpl_trace *trace;
    struct rpl_summary sum;
    struct rpl_parameters parameters;
    struct rpl_traffic traffic;
    struct vs_text printed;
};

/* lesson: borrowed. runs: lesson->run_count of them. */
struct cli_lesson_runs {
    const struct cli_lesson *lesson;
    struct cli_lesson_trace runs[CLI_LESSON_RUNS_MAX];
};

/*
 * Run all nets. `root` is the folder above that of the lesson. `out` is zeroed; release it, also after a failure.
 * Errors: those of reading a net and of running it, with the name of the run.
 */
VS_MUST_USE enum vs_status cli_lesson_run(const struct cli_lesson *lesson, const char *root,
                                          struct cli_lesson_runs *out, struct vs_error *err);
void cli_lesson_runs_release(struct cli_lesson_runs *runs);

/* The figures of docs/internals/lessons.md; `user` is a struct cli_lesson_runs. */
enum vs_status cli_lesson_figure_of(void *user, const char *name, const struct cli_expr_arg *args,
                                    size_t count, double *out, struct vs_error *err);

#endif
