/*
 * cli/lesson/answer.h - what the runs of a lesson say: its figures, which known ones are reached, the verdict.
 *
 * For:            cmd_lesson.c.
 * Must not know:  arguments, terminals.
 * Invariant:      everything here follows from the figures of the runs; the same lesson gives the same text.
 */
#ifndef CLI_LESSON_ANSWER_H
#define CLI_LESSON_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/lesson/run.h"

/*
 * runs       borrowed
 * verdict    of the case whose condition holds, or "not reproduced"; text: its sentences with figures, owned
 * is_reached whether known figure i of the lesson is reached
 * is_good    a case holds and all known figures are reached
 */
struct cli_lesson_answer {
    struct cli_lesson_runs *runs;
    const char *verdict;
    struct vs_text text;
    bool is_reached[CLI_LESSON_LIST_MAX];
    bool is_good;
};

/*
 * Evaluate all of the lesson's expressions. `out` is zeroed; release it, also after a failure. VS_E_SYNTAX,
 * VS_E_NOT_FOUND, VS_E_VALUE: an expression is wrong; the message has file and line.
 */
VS_MUST_USE enum vs_status cli_lesson_answer(struct cli_lesson_runs *runs,
                                             struct cli_lesson_answer *out, struct vs_error *err);
void cli_lesson_answer_release(struct cli_lesson_answer *answer);

/* Append the lesson as text, at most 100 columns wide where labels allow it. Errors: as above. */
VS_MUST_USE enum vs_status cli_lesson_text(const struct cli_lesson_answer *answer,
                                           struct vs_text *out, struct vs_error *err);
/* Append the line of the table of all lessons. */
void cli_lesson_line(const struct cli_lesson_answer *answer, struct vs_text *out);
/* Write the object of docs/formats/json.md. Errors: as above. */
VS_MUST_USE enum vs_status cli_lesson_json(const struct cli_lesson_answer *answer,
                                           struct vs_json *json, struct vs_error *err);
/* Append the line of the page's list, a link to the section, and its verdict. */
void cli_lesson_link(const struct cli_lesson_answer *answer, struct vs_text *out);
/* Append the section of docs/guide/techniques.md. Errors: as above, and those of reading the traces. */
VS_MUST_USE enum vs_status cli_lesson_section(const struct cli_lesson_answer *answer,
                                              struct vs_text *out, struct vs_error *err);

/* Append `text` in lines of at most `width` columns; lines after the first begin with `indent` blanks. */
void cli_lesson_fill(const char *text, int indent, int width, struct vs_text *out);

#endif
