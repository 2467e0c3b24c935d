/*
 * cli/lesson/section.c - a lesson as a section of docs/guide/techniques.md; see answer.h.
 *
 * Must not know:  arguments, terminals.
 * Invariant:      both pictures have the same scale.
 */
#include <ctype.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "cli/lesson/answer.h"
#include "cli/lesson/picture.h"

#define WIDTH 118
#define INDENT 4

/* `text` with INDENT blanks before each line but the first, as a block of code. */
static void add_block(const char *text, struct vs_text *out)
{
    while (*text) {
        const size_t len = strcspn(text, "\n");

        if (len)
            vs_text_add_fill(out, ' ', INDENT);
        vs_text_add_n(out, text, len);
        vs_text_add_char(out, '\n');
        text += len + (text[len] == '\n');
    }
}

static void add_picture(const char *name, const char *label, const struct cli_picture *picture,
                        uint64_t top, struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_add_char(out, '\n');
    vs_text_add_fill(out, ' ', INDENT);
    vs_text_addf(out, "%s: %s, at most %s\n", name, label,
                 vs_bytes_text(cli_picture_top(picture), buf));
    cli_picture_draw(picture, top, INDENT, out);
}

static enum vs_status add_pictures(const struct cli_lesson_answer *answer, struct vs_text *out,
                                   struct vs_error *err)
{
    static const char *const NAMES[] = {"before", "after"};
    const struct cli_lesson *lesson = answer->runs->lesson;
    struct cli_picture pictures[2];
    size_t runs[2];
    uint64_t top = 0;

    for (size_t i = 0; i < 2; i++) {
        runs[i] = cli_lesson_run_find(lesson, NAMES[i], strlen(NAMES[i]));
        if (cli_picture_fill(&pictures[i], answer->runs->runs[runs[i]].trace, lesson->is_whole,
                             err))
            return err->status;
        if (cli_picture_top(&pictures[i]) > top)
            top = cli_picture_top(&pictures[i]);
    }
    vs_text_addf(out, "\nAllocated bytes over %s, event by event:\n",
                 lesson->is_whole ? "the whole run" : "the last step");
    for (size_t i = 0; i < 2; i++)
        add_picture(NAMES[i], lesson->runs[runs[i]].label, &pictures[i], top, out);
    return VS_OK;
}

/* The part of the text between the advice and the verdict. */
static void add_table(const char *text, struct vs_text *out)
{
    const char *from = strstr(text, "\n\n");
    const char *to;

    from = from ? strstr(from + 2, "\n\n") : NULL;
    to = from ? strstr(from, "\n\nVerdict") : NULL;
    if (from && to) {
        char *part = vs_strndup(from + 2, (size_t)(to - from - 2));

        add_block(part, out);
        vs_free(part);
    }
}

/* The heading as an anchor: small letters, "-" for blanks, nothing else but letters and digits. */
void cli_lesson_link(const struct cli_lesson_answer *answer, struct vs_text *out)
{
    const struct cli_lesson *lesson = answer->runs->lesson;
    struct vs_text line = {NULL, 0, 0};

    vs_text_addf(&line, "- [%u. %s](#%u-", lesson->number, lesson->title, lesson->number);
    for (const char *at = lesson->title; *at; at++) {
        if (isalnum((unsigned char)*at))
            vs_text_add_char(&line, (char)tolower((unsigned char)*at));
        else if (*at == ' ' || *at == '-' || *at == '_')
            vs_text_add_char(&line, *at == ' ' ? '-' : *at);
    }
    vs_text_addf(&line, "): %s", answer->verdict);
    cli_lesson_fill(vs_text_get(&line), 2, WIDTH, out);
    vs_text_release(&line);
}

enum vs_status cli_lesson_section(const struct cli_lesson_answer *answer, struct vs_text *out,
                                  struct vs_error *err)
{
    const struct cli_lesson *lesson = answer->runs->lesson;
    struct vs_text whole = {NULL, 0, 0};
    struct vs_text line = {NULL, 0, 0};
    enum vs_status st = cli_lesson_text(answer, &whole, err);

    vs_text_addf(out, "\n## %u. %s\n\n", lesson->number, lesson->title);
    vs_text_addf(&line, "*Advice.* %s", lesson->claim);
    cli_lesson_fill(vs_text_get(&line), 0, WIDTH, out);
    vs_text_clear(&line);
    vs_text_addf(&line, "*Verdict: %s.* %s ([code](../../%s))", answer->verdict,
                 vs_text_get(&answer->text), lesson->name);
    vs_text_add_char(out, '\n');
    cli_lesson_fill(vs_text_get(&line), 0, WIDTH, out);
    vs_text_add_char(out, '\n');
    add_table(vs_text_get(&whole), out);
    if (!st)
        st = add_pictures(answer, out, err);
    vs_text_release(&whole);
    vs_text_release(&line);
    return st;
}
