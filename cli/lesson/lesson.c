/*
 * cli/lesson/lesson.c - see lesson.h.
 *
 * Must not know:  how a net is run.
 * Invariant:      a line of the head that is not understood is an error with its number; none is skipped.
 */
#include "cli/lesson/lesson.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* The next line of the head begins a text like this where it is continued. */
#define CONTINUED "#   "

/*
 * An item of the head: "KEY ARGUMENT: TEXT". text: that of all its lines, joined by blanks. line: of the first.
 */
struct item {
    const char *key;
    const char *argument;
    const char *text;
    unsigned line;
};

struct parser {
    struct cli_lesson *out;
    const char *at;
    unsigned line;
    struct vs_error *err;
};

static enum vs_status fail_at(const struct parser *p, unsigned line, const char *what,
                              const char *which)
{
    return vs_fail(p->err, VS_E_FORMAT, "%s:%u: %s%s%s%s", p->out->name, line, what,
                   which ? " `" : "", which ? which : "", which ? "`" : "");
}

/* Without blanks at either end, in the arena. */
static const char *trimmed(struct cli_lesson *lesson, const char *text, size_t len)
{
    while (len && isspace((unsigned char)*text)) {
        text++;
        len--;
    }
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    return vs_arena_strndup(lesson->arena, text, len);
}

/* The item at p->at, which begins with '#'; p->at is then behind it. */
static enum vs_status item_next(struct parser *p, struct item *out)
{
    struct vs_text all = {NULL, 0, 0};
    const char *colon;
    size_t key_len;
    enum vs_status st = VS_OK;

    out->line = p->line;
    do {
        const size_t len = strcspn(p->at, "\n");

        if (all.len)
            vs_text_add_char(&all, ' ');
        vs_text_add(&all, trimmed(p->out, p->at + 1, len - 1));
        p->at += len + (p->at[len] == '\n');
        p->line++;
    } while (strncmp(p->at, CONTINUED, strlen(CONTINUED)) == 0);
    colon = strchr(vs_text_get(&all), ':');
    key_len = strcspn(vs_text_get(&all), " :");
    if (!colon || !key_len) {
        st = fail_at(p, out->line, "a line of the header must be `# key: text`", NULL);
        goto out;
    }
    out->key = vs_arena_strndup(p->out->arena, vs_text_get(&all), key_len);
    out->argument =
        trimmed(p->out, vs_text_get(&all) + key_len, (size_t)(colon - vs_text_get(&all)) - key_len);
    out->text = trimmed(p->out, colon + 1, strlen(colon + 1));
out:
    vs_text_release(&all);
    return st;
}

/* ---- the keys ---- */

static enum vs_status lesson_key(struct parser *p, const struct item *item)
{
    char *end;

    p->out->number = (unsigned)strtoul(item->text, &end, 10);
    p->out->title = trimmed(p->out, end, strlen(end));
    if (!p->out->number || !*p->out->title)
        return fail_at(p, item->line, "a lesson must have a number and a title", NULL);
    return VS_OK;
}

/* A word of a run: a net, a define or a toggle. */
static enum vs_status run_word(struct parser *p, const struct item *item,
                               struct cli_lesson_run *run, const char *word)
{
    const char *ending = strrchr(word, '.');

    if (!strchr(word, '=')) {
        if (run->net || !ending || strcmp(ending, ".py") != 0)
            return fail_at(p, item->line, "a run takes one net file and settings NAME=VALUE, not",
                           word);
        run->net = word;
        return VS_OK;
    }
    if (isupper((unsigned char)*word)) {
        if (run->define_count == CLI_LESSON_DEFINES_MAX)
            return fail_at(p, item->line, "too many lines to change in", run->name);
        run->defines[run->define_count++] = word;
        return VS_OK;
    }
    if (!vs_toggles_set_pair(&run->toggles, word, p->err))
        return VS_OK;
    vs_error_prefix(p->err, "%s:%u", p->out->name, item->line);
    return p->err->status;
}

/*
 * "run NAME: WORD … : LABEL". The words have no colon followed by a blank, which alloc-conf has none of either.
 */
static enum vs_status run_key(struct parser *p, const struct item *item)
{
    struct cli_lesson *lesson = p->out;
    const char *colon = strncmp(item->text, ": ", 2) == 0 ? item->text : strstr(item->text, " : ");
    struct cli_lesson_run *run;
    struct vs_text settings = {NULL, 0, 0};
    enum vs_status st = VS_OK;

    if (lesson->run_count == CLI_LESSON_RUNS_MAX)
        return fail_at(p, item->line, "too many runs", NULL);
    if (!*item->argument || !colon)
        return fail_at(p, item->line, "a run must be `# run NAME: [NET] [NAME=VALUE] : LABEL`",
                       NULL);
    if (cli_lesson_run_find(lesson, item->argument, strlen(item->argument)) < lesson->run_count)
        return fail_at(p, item->line, "there are two runs", item->argument);
    run = &lesson->runs[lesson->run_count++];
    run->name = item->argument;
    run->label = trimmed(lesson, strchr(colon, ':') + 1, strlen(strchr(colon, ':') + 1));
    for (const char *at = item->text; at < colon && !st;) {
        const size_t len = strcspn(at, " ");
        const char *word = vs_arena_strndup(lesson->arena, at, len);

        if (len)
            st = run_word(p, item, run, word);
        if (len && word != run->net)
            vs_text_addf(&settings, "%s%s", settings.len ? " " : "", word);
        at += len + (at[len] == ' ');
    }
    run->settings = vs_arena_strndup(lesson->arena, vs_text_get(&settings), settings.len);
    vs_text_release(&settings);
    return st;
}

/* "LABEL: EXPRESSION [as FORMAT]" */
static enum vs_status figure_add(struct parser *p, const struct item *item,
                                 struct cli_lesson_figure *list, size_t *count)
{
    const char *as = strstr(item->text, " as ");

    if (*count == CLI_LESSON_LIST_MAX)
        return fail_at(p, item->line, "too many lines of the key", item->key);
    if (!*item->argument || !*item->text)
        return fail_at(p, item->line, "a figure must have a label and an expression", NULL);
    list[(*count)++] = (struct cli_lesson_figure){
        .label = item->argument,
        .expr = trimmed(p->out, item->text, as ? (size_t)(as - item->text) : strlen(item->text)),
        .format = as ? trimmed(p->out, as + 4, strlen(as + 4)) : "bytes",
        .line = item->line,
    };
    return VS_OK;
}

/* The four that a reader can rely on; each but the first is followed by the condition or the version. */
static bool is_verdict(const char *text)
{
    static const char *const BEGINNINGS[] = {"true when ", "not true",
                                             "no longer true since PyTorch "};

    for (size_t i = 0; i < sizeof(BEGINNINGS) / sizeof(BEGINNINGS[0]); i++)
        if (strncmp(text, BEGINNINGS[i], strlen(BEGINNINGS[i])) == 0)
            return true;
    return strcmp(text, "true") == 0;
}

/* `if`, `verdict` and `text`, in this order. */
static enum vs_status case_key(struct parser *p, const struct item *item)
{
    struct cli_lesson *lesson = p->out;
    struct cli_lesson_case *last =
        lesson->case_count ? &lesson->cases[lesson->case_count - 1] : NULL;

    if (strcmp(item->key, "if") == 0 && (!last || last->text)) {
        if (lesson->case_count == CLI_LESSON_LIST_MAX)
            return fail_at(p, item->line, "too many cases", NULL);
        lesson->cases[lesson->case_count++] =
            (struct cli_lesson_case){.condition = item->text, .line = item->line};
    } else if (strcmp(item->key, "verdict") == 0 && last && !last->verdict) {
        if (!is_verdict(item->text))
            return fail_at(
                p, item->line,
                "a verdict must be `true`, `true when …`, `not true …` or `no longer true "
                "since PyTorch …`, not",
                item->text);
        last->verdict = item->text;
    } else if (strcmp(item->key, "text") == 0 && last && last->verdict && !last->text) {
        last->text = item->text;
    } else {
        return fail_at(p, item->line, "a case must be `if`, `verdict` and `text`, in this order",
                       NULL);
    }
    return VS_OK;
}

static enum vs_status item_use(struct parser *p, const struct item *item)
{
    struct cli_lesson *lesson = p->out;
    const char *key = item->key;

    if (!lesson->number && strcmp(key, "lesson") != 0)
        return fail_at(p, item->line, "the first line must be `# lesson: N TITLE`", NULL);
    if (strcmp(key, "lesson") == 0)
        return lesson_key(p, item);
    if (strcmp(key, "run") == 0)
        return run_key(p, item);
    if (strcmp(key, "show") == 0)
        return figure_add(p, item, lesson->shows, &lesson->show_count);
    if (strcmp(key, "known") == 0)
        return figure_add(p, item, lesson->knowns, &lesson->known_count);
    if (strcmp(key, "if") == 0 || strcmp(key, "verdict") == 0 || strcmp(key, "text") == 0)
        return case_key(p, item);
    if (strcmp(key, "claim") == 0)
        lesson->claim = item->text;
    else if (strcmp(key, "keys") == 0)
        lesson->keys = item->text;
    else if (strcmp(key, "picture") == 0)
        lesson->is_whole = strcmp(item->text, "all") == 0;
    else
        return fail_at(p, item->line, "a lesson cannot have the key", key);
    return VS_OK;
}

static enum vs_status whole_check(struct parser *p)
{
    const struct cli_lesson *lesson = p->out;
    const char *missing = NULL;

    if (!lesson->number)
        missing = "# lesson: N TITLE";
    else if (!lesson->claim)
        missing = "# claim: TEXT";
    else if (cli_lesson_run_find(lesson, "before", 6) == lesson->run_count)
        missing = "# run before: …";
    else if (cli_lesson_run_find(lesson, "after", 5) == lesson->run_count)
        missing = "# run after: …";
    else if (!lesson->case_count || !lesson->cases[lesson->case_count - 1].text)
        missing = "# if: …, # verdict: …, # text: …";
    return missing ? fail_at(p, p->line, "the lesson lacks", missing) : VS_OK;
}

enum vs_status cli_lesson_parse(const char *name, const char *text, size_t len,
                                struct cli_lesson *out, struct vs_error *err)
{
    struct parser p = {.out = out, .line = 1, .err = err};
    enum vs_status st = VS_OK;

    out->arena = vs_arena_new();
    out->name = vs_arena_strndup(out->arena, name, strlen(name));
    out->text = vs_arena_strndup(out->arena, text, len);
    out->len = len;
    out->keys = "gp";
    p.at = out->text;
    while (*p.at == '#' && !st) {
        struct item item = {.key = NULL};

        st = item_next(&p, &item);
        if (!st)
            st = item_use(&p, &item);
    }
    return st ? st : whole_check(&p);
}

void cli_lesson_release(struct cli_lesson *lesson)
{
    for (size_t i = 0; i < lesson->run_count; i++)
        vs_toggles_release(&lesson->runs[i].toggles);
    vs_arena_free(lesson->arena);
    memset(lesson, 0, sizeof(*lesson));
}

size_t cli_lesson_run_find(const struct cli_lesson *lesson, const char *name, size_t len)
{
    size_t i = 0;

    while (i < lesson->run_count &&
           (strncmp(lesson->runs[i].name, name, len) != 0 || lesson->runs[i].name[len] != '\0'))
        i++;
    return i;
}
