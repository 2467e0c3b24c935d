/*
 * cli/lesson/answer.c - see answer.h.
 *
 * Must not know:  how it is shown (text.c, json.c, section.c).
 * Invariant:      the first case whose condition holds is the verdict.
 */
#include "cli/lesson/answer.h"

#include <string.h>

static enum vs_status at_line(const struct cli_lesson *lesson, unsigned line, struct vs_error *err)
{
    vs_error_prefix(err, "%s:%u", lesson->name, line);
    return err->status;
}

static enum vs_status knowns_check(struct cli_lesson_answer *out, struct vs_error *err)
{
    const struct cli_lesson *lesson = out->runs->lesson;

    for (size_t i = 0; i < lesson->known_count; i++) {
        double value;

        if (cli_expr_value(lesson->knowns[i].expr, NULL, cli_lesson_figure_of, out->runs, &value,
                           err))
            return at_line(lesson, lesson->knowns[i].line, err);
        out->is_reached[i] = value != 0.0;
        out->is_good &= out->is_reached[i];
    }
    return VS_OK;
}

enum vs_status cli_lesson_answer(struct cli_lesson_runs *runs, struct cli_lesson_answer *out,
                                 struct vs_error *err)
{
    const struct cli_lesson *lesson = runs->lesson;
    enum vs_status st;

    out->runs = runs;
    out->is_good = true;
    out->verdict = NULL;
    st = knowns_check(out, err);
    /* all are evaluated, so that a wrong expression is found even where its text is not printed */
    for (size_t i = 0; i < lesson->case_count && !st; i++) {
        struct vs_text text = {NULL, 0, 0};
        double value;

        if (cli_expr_value(lesson->cases[i].condition, NULL, cli_lesson_figure_of, runs, &value,
                           err) ||
            cli_expr_text(lesson->cases[i].text, cli_lesson_figure_of, runs, &text, err))
            st = at_line(lesson, lesson->cases[i].line, err);
        else if (value != 0.0 && !out->verdict) {
            out->verdict = lesson->cases[i].verdict;
            vs_text_add(&out->text, vs_text_get(&text));
        }
        vs_text_release(&text);
    }
    if (!out->verdict) {
        out->verdict = "not reproduced";
        vs_text_add(&out->text, "no case of the lesson has a condition that these figures fulfil");
        out->is_good = false;
    }
    return st;
}

void cli_lesson_answer_release(struct cli_lesson_answer *answer)
{
    vs_text_release(&answer->text);
    memset(answer, 0, sizeof(*answer));
}
