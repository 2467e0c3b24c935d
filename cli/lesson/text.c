/*
 * cli/lesson/text.c - a lesson as text; see answer.h.
 *
 * Must not know:  arguments, terminals.
 * Invariant:      what does not fit the width is broken between words, never cut.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "cli/lesson/answer.h"
#include "replay/report/warnings.h"

#define WIDTH 100
#define INDENT 10
#define COLUMN_MIN 12
#define TITLE_WIDTH 44

/* Cells that `text` takes on a screen: its characters, none of which is a wide one. */
static size_t cells(const char *text)
{
    size_t count = 0;

    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

/* Up to the next blank; a number and its per cent sign are one word. */
static size_t word_len(const char *text)
{
    size_t len = strcspn(text, " ");

    if (text[len] && text[len + 1] == '%')
        len += 1 + strcspn(text + len + 1, " ");
    return len;
}

void cli_lesson_fill(const char *text, int indent, int width, struct vs_text *out)
{
    int column = indent;
    bool is_first = true;

    while (*text) {
        const size_t len = word_len(text);
        char *word = vs_strndup(text, len);
        const int wide = (int)cells(word);

        vs_free(word);
        if (!is_first && column + 1 + wide > width) {
            vs_text_add_char(out, '\n');
            vs_text_add_fill(out, ' ', indent);
            column = indent;
        } else if (!is_first) {
            vs_text_add_char(out, ' ');
            column++;
        }
        vs_text_add_n(out, text, len);
        column += wide;
        is_first = false;
        text += len;
        text += *text == ' ';
    }
    vs_text_add_char(out, '\n');
}

static void add_part(struct vs_text *out, const char *name, const char *text)
{
    vs_text_addf(out, "%-*s", INDENT, name);
    cli_lesson_fill(text, INDENT, WIDTH, out);
}

/* Blanks before a text that is to end at the column. */
static void add_right(struct vs_text *out, const char *text, int width)
{
    vs_text_add_fill(out, ' ', width - (int)cells(text));
    vs_text_add(out, text);
}

/* A figure of each run: its expression has `*`. */
static bool is_column(const struct cli_lesson_figure *show)
{
    return strstr(show->expr, "(*") != NULL;
}

/* Two blanks, then the label or a figure. */
static int column_width(const struct cli_lesson_figure *show)
{
    const int wide = (int)cells(show->label);

    return 2 + (wide > COLUMN_MIN ? wide : COLUMN_MIN);
}

static enum vs_status show_value(const struct cli_lesson_answer *answer,
                                 const struct cli_lesson_figure *show, const char *run,
                                 struct vs_text *out, struct vs_error *err)
{
    double value;
    enum vs_status st =
        cli_expr_value(show->expr, run, cli_lesson_figure_of, answer->runs, &value, err);

    if (!st)
        st = cli_expr_format(value, show->format, out, err);
    if (st)
        vs_error_prefix(err, "%s:%u", answer->runs->lesson->name, show->line);
    return st;
}

static int label_width(const struct cli_lesson *lesson)
{
    size_t width = 3;

    for (size_t i = 0; i < lesson->run_count; i++)
        if (cells(lesson->runs[i].name) > width)
            width = cells(lesson->runs[i].name);
    return (int)width;
}

static void add_figures(const struct cli_lesson_trace *run, struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    add_right(out, vs_bytes_text(run->sum.peak.allocated, buf), 13);
    add_right(out, vs_bytes_text(run->sum.peak.reserved, buf), 13);
    add_right(out, vs_bytes_text(run->sum.saved.bytes, buf), 13);
    if (run->sum.recompute_flops)
        vs_text_addf(out, "%12.1f %%",
                     100.0 * (double)run->sum.recompute_flops / (double)run->sum.flops);
    else
        vs_text_addf(out, "%14s", "none");
    add_right(out, vs_bytes_text(run->traffic.bytes, buf), 12);
}

/* A row a run: the figures that every lesson has, then the columns of this one. */
static enum vs_status add_runs(const struct cli_lesson_answer *answer, struct vs_text *out,
                               struct vs_error *err)
{
    const struct cli_lesson *lesson = answer->runs->lesson;
    const int width = label_width(lesson);
    enum vs_status st = VS_OK;

    vs_text_addf(out, "  %-*s%13s%13s%13s%14s%12s", width, "", "peak", "reserved", "saved",
                 "recomputed", "moved");
    for (size_t k = 0; k < lesson->show_count; k++)
        if (is_column(&lesson->shows[k]))
            add_right(out, lesson->shows[k].label, column_width(&lesson->shows[k]));
    vs_text_add_char(out, '\n');
    for (size_t i = 0; i < lesson->run_count && !st; i++) {
        vs_text_addf(out, "  %-*s", width, lesson->runs[i].name);
        add_figures(&answer->runs->runs[i], out);
        for (size_t k = 0; k < lesson->show_count && !st; k++) {
            struct vs_text value = {NULL, 0, 0};

            if (!is_column(&lesson->shows[k]))
                continue;
            st = show_value(answer, &lesson->shows[k], lesson->runs[i].name, &value, err);
            add_right(out, vs_text_get(&value), column_width(&lesson->shows[k]));
            vs_text_release(&value);
        }
        vs_text_add_char(out, '\n');
    }
    return st;
}

static void add_labels(const struct cli_lesson *lesson, struct vs_text *out)
{
    const int width = label_width(lesson);

    for (size_t i = 0; i < lesson->run_count; i++) {
        const struct cli_lesson_run *run = &lesson->runs[i];

        vs_text_addf(out, "  %-*s  %s (%s%s%s)\n", width, run->name, run->label,
                     run->net ? run->net : lesson->name, *run->settings ? ", " : "", run->settings);
    }
}

/* What runs warn of, and what of their toggles was not applied. */
static void add_notes(const struct cli_lesson_answer *answer, struct vs_text *out)
{
    const struct cli_lesson *lesson = answer->runs->lesson;
    struct vs_text line = {NULL, 0, 0};

    for (size_t i = 0; i < lesson->run_count; i++) {
        const struct rpl_trace *trace = answer->runs->runs[i].trace;
        const char *refused = rpl_trace_meta(trace, "refused");
        struct rpl_warning warning;
        const char *at = NULL;

        while (rpl_warning_next(trace, &at, &warning)) {
            vs_text_clear(&line);
            vs_text_addf(&line, "%s warns: ", lesson->runs[i].name);
            rpl_warning_text(&warning, &line);
            vs_text_add(out, "  ");
            cli_lesson_fill(vs_text_get(&line), 4, WIDTH, out);
        }
        while (refused && *refused) {
            const size_t len = strcspn(refused, "\n");

            vs_text_clear(&line);
            vs_text_addf(&line, "%s, not applied: %.*s", lesson->runs[i].name, (int)len, refused);
            vs_text_add(out, "  ");
            cli_lesson_fill(vs_text_get(&line), 4, WIDTH, out);
            refused += len + (refused[len] == '\n');
        }
    }
    vs_text_release(&line);
}

static enum vs_status add_lines(const struct cli_lesson_answer *answer, struct vs_text *out,
                                struct vs_error *err)
{
    const struct cli_lesson *lesson = answer->runs->lesson;
    enum vs_status st = VS_OK;
    bool is_first = true;

    for (size_t k = 0; k < lesson->show_count && !st; k++) {
        if (is_column(&lesson->shows[k]))
            continue;
        vs_text_addf(out, "%s  %s: ", is_first ? "\n" : "", lesson->shows[k].label);
        is_first = false;
        st = show_value(answer, &lesson->shows[k], NULL, out, err);
        vs_text_add_char(out, '\n');
    }
    for (size_t k = 0; k < lesson->known_count; k++) {
        vs_text_addf(out, "%s  known: %s: %s\n", is_first ? "\n" : "", lesson->knowns[k].label,
                     answer->is_reached[k] ? "reached" : "NOT REACHED");
        is_first = false;
    }
    return st;
}

enum vs_status cli_lesson_text(const struct cli_lesson_answer *answer, struct vs_text *out,
                               struct vs_error *err)
{
    const struct cli_lesson *lesson = answer->runs->lesson;
    enum vs_status st;

    vs_text_addf(out, "%u. %s\n\n", lesson->number, lesson->title);
    add_part(out, "Advice", lesson->claim);
    vs_text_add_char(out, '\n');
    add_labels(lesson, out);
    vs_text_add_char(out, '\n');
    st = add_runs(answer, out, err);
    if (!st)
        st = add_lines(answer, out, err);
    add_notes(answer, out);
    vs_text_add_char(out, '\n');
    add_part(out, "Verdict", answer->verdict);
    vs_text_add_fill(out, ' ', INDENT);
    cli_lesson_fill(vs_text_get(&answer->text), INDENT, WIDTH, out);
    return st;
}

void cli_lesson_line(const struct cli_lesson_answer *answer, struct vs_text *out)
{
    const struct cli_lesson *lesson = answer->runs->lesson;
    const size_t before = cli_lesson_run_find(lesson, "before", 6);
    const size_t after = cli_lesson_run_find(lesson, "after", 5);
    const uint64_t a = answer->runs->runs[before].sum.peak.allocated;
    const uint64_t b = answer->runs->runs[after].sum.peak.allocated;
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%3u  %s", lesson->number, lesson->title);
    vs_text_add_fill(out, ' ', TITLE_WIDTH - (int)cells(lesson->title));
    add_right(out, vs_bytes_text(a, buf), 11);
    add_right(out, vs_bytes_text(b, buf), 11);
    vs_text_addf(out, "%10s  %s%s\n", a ? vs_change_text((double)a, (double)b, buf) : "",
                 answer->verdict, answer->is_good ? "" : " (a known figure is not reached)");
}
