/*
 * cli/lesson/lesson.h - a lesson as its file says it: the advice, the runs, the figures to show, the verdicts.
 *
 * For:            the other files of cli/lesson/.
 * Must not know:  how a net is run; what an expression means (expr.h).
 * Invariant:      a lesson that was parsed has runs called "before" and "after", a claim and at least one case.
 *
 * docs/internals/lessons.md describes the format of the file.
 */
#ifndef CLI_LESSON_LESSON_H
#define CLI_LESSON_LESSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/toggle.h"

#define CLI_LESSON_DEFINES_MAX 4
#define CLI_LESSON_RUNS_MAX 12
#define CLI_LESSON_LIST_MAX 12

/*
 * A run. net: another net file, relative to the folder above the lessons; NULL: the lesson itself. defines:
 * "NAME=VALUE", define_count of them. settings: the defines and toggles as they were written. All texts of a lesson
 * are in its arena.
 */
struct cli_lesson_run {
    const char *name;
    const char *label;
    const char *net;
    const char *settings;
    const char *defines[CLI_LESSON_DEFINES_MAX];
    size_t define_count;
    struct vs_toggles toggles;
};

/* A figure to show, with its format; or a figure to reach, where `expr` is a condition. line: in the file. */
struct cli_lesson_figure {
    const char *label;
    const char *expr;
    const char *format;
    unsigned line;
};

/* A verdict and the text for it, if the condition holds. */
struct cli_lesson_case {
    const char *condition;
    const char *verdict;
    const char *text;
    unsigned line;
};

/*
 * number  from 1; name: of the file, for messages; text, len: the whole file, from its arena
 * keys    for the TUI; is_whole: the picture shows all steps
 */
struct cli_lesson {
    unsigned number;
    const char *name;
    const char *title;
    const char *claim;
    const char *keys;
    bool is_whole;
    struct cli_lesson_run runs[CLI_LESSON_RUNS_MAX];
    size_t run_count;
    struct cli_lesson_figure shows[CLI_LESSON_LIST_MAX];
    size_t show_count;
    struct cli_lesson_figure knowns[CLI_LESSON_LIST_MAX];
    size_t known_count;
    struct cli_lesson_case cases[CLI_LESSON_LIST_MAX];
    size_t case_count;
    const char *text;
    size_t len;
    struct vs_arena *arena;
};

/*
 * Parse the file `name` with this text, which is copied. `out` is zeroed; release it after a failure, too.
 *
 * VS_E_FORMAT: the head of the file is not that of a lesson, or it has no runs "before" and "after", no claim or no
 * case. VS_E_VALUE, VS_E_NOT_FOUND: a toggle or its value. The message has file and line.
 */
VS_MUST_USE enum vs_status cli_lesson_parse(const char *name, const char *text, size_t len,
                                            struct cli_lesson *out, struct vs_error *err);
void cli_lesson_release(struct cli_lesson *lesson);

/* The index of the run called `name`; run_count: there is none. */
size_t cli_lesson_run_find(const struct cli_lesson *lesson, const char *name, size_t len);

#endif
