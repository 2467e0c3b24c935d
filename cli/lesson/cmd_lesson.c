/*
 * cli/lesson/cmd_lesson.c - runs the lessons: what the articles advise, measured.
 *
 * For:            `vramscope lesson`.
 * Must not know:  what a lesson says (the files of lessons/), how a figure is measured (run.h).
 * Invariant:      a lesson whose figures do not support any of its verdicts is a failure.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cmds.h"
#include "cli/lesson/answer.h"
#include "cli/lesson/folder.h"
#include "cli/lesson/tui.h"
#include "cli/screen.h"

static const struct cli_option OPTIONS[] = {
    {"all", 'a', NULL, false, "run every lesson and print a line for each"},
    {"page", 0, NULL, false, "run every lesson and print docs/guide/techniques.md"},
    {"tui", 0, NULL, false, "open the runs before and after side by side in the TUI"},
    {"dump", 0, NULL, false, "with --tui: print the screen as text instead of taking the terminal"},
    {"size", 0, "WxH", false, "with --tui: size of the screen that --dump prints (default 80x24)"},
    {"keys", 'k', "KEYS", false, "with --tui: keys to type first"},
    {"code", 0, NULL, false, "print the file of the lesson"},
    {"from", 0, "DIR", false, "another folder of lessons (docs/internals/lessons.md)"},
    {"json", 0, NULL, false, "print JSON; docs/formats/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

static const char PAGE_HEAD[] =
    "# Techniques\n\n"
    "What articles advise for saving GPU memory, tried. `make techniques` writes this page from "
    "the "
    "files of `lessons/`,\n"
    "each of which has the advice, the code and the conditions of its verdict\n"
    "([lessons.md](../internals/lessons.md)). `vramscope lesson N` prints lesson N. All figures "
    "are "
    "of tensors, measured on\n"
    "`meta`; they are those that PyTorch has on CUDA without the workspaces of libraries\n"
    "([fidelity.md](../internals/fidelity.md)). `saved` is what autograd keeps when the last loss "
    "ends, `recomputed` the\n"
    "share of the arithmetic that checkpoints run again, `moved` the bytes that all ops read and "
    "write.\n"
    "[sample-nets.md](sample-nets.md) shows "
    "whole "
    "nets.\n\n";

/* One lesson, run and evaluated. Release both, also after a failure. */
struct done {
    struct cli_lesson_runs runs;
    struct cli_lesson_answer answer;
};

static enum vs_status done_fill(const struct cli_lesson *lesson,
                                const struct cli_lesson_folder *folder, struct done *out,
                                struct vs_error *err)
{
    enum vs_status st = cli_lesson_run(lesson, folder->root, &out->runs, err);

    return st ? st : cli_lesson_answer(&out->runs, &out->answer, err);
}

static void done_release(struct done *done)
{
    cli_lesson_answer_release(&done->answer);
    cli_lesson_runs_release(&done->runs);
}

/* What to make of each lesson. json: NULL where text is wanted; sections: of the page, which follow its list. */
enum form { FORM_LESSON, FORM_LINE, FORM_PAGE };
struct output {
    enum form form;
    struct vs_json *json;
    struct vs_text *text;
    struct vs_text sections;
    bool is_good;
};

/* A line of the list at the beginning of the page, and the section that it links to. */
static enum vs_status page_add(const struct cli_lesson_answer *answer, struct output *out,
                               struct vs_error *err)
{
    cli_lesson_link(answer, out->text);
    return cli_lesson_section(answer, &out->sections, err);
}

static enum vs_status one_add(const struct cli_lesson *lesson,
                              const struct cli_lesson_folder *folder, struct output *out,
                              struct vs_error *err)
{
    struct done *done = vs_calloc(1, sizeof(*done));
    enum vs_status st = done_fill(lesson, folder, done, err);

    if (!st && out->json)
        st = cli_lesson_json(&done->answer, out->json, err);
    else if (!st && out->form == FORM_LESSON)
        st = cli_lesson_text(&done->answer, out->text, err);
    else if (!st && out->form == FORM_PAGE)
        st = page_add(&done->answer, out, err);
    else if (!st)
        cli_lesson_line(&done->answer, out->text);
    out->is_good &= !st && done->answer.is_good;
    done_release(done);
    vs_free(done);
    return st;
}

static void list_add(const struct cli_lesson_folder *folder, struct vs_text *out)
{
    for (size_t i = 0; i < folder->count; i++)
        vs_text_addf(out, "%3u  %s\n", folder->lessons[i].number, folder->lessons[i].title);
    vs_text_add(out, "\n`vramscope lesson N` runs one, `vramscope lesson --all` all of them.\n");
}

static void list_json(const struct cli_lesson_folder *folder, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_key(&json, "lessons");
    vs_json_array(&json);
    for (size_t i = 0; i < folder->count; i++) {
        vs_json_object_flat(&json);
        vs_json_put_uint(&json, "number", folder->lessons[i].number);
        vs_json_put_string(&json, "title", folder->lessons[i].title);
        vs_json_put_string(&json, "claim", folder->lessons[i].claim);
        vs_json_put_string(&json, "file", folder->lessons[i].name);
        vs_json_end(&json);
    }
    vs_json_end(&json);
    vs_json_end(&json);
}

static enum vs_status all_add(const struct cli_lesson_folder *folder, struct output *out,
                              struct vs_error *err)
{
    enum vs_status st = VS_OK;

    if (out->form == FORM_PAGE)
        vs_text_add(out->text, PAGE_HEAD);
    else if (!out->json)
        vs_text_addf(out->text, "%-49s%11s%11s%10s  %s\n", "", "before", "after", "change",
                     "verdict");
    for (size_t i = 0; i < folder->count && !st; i++)
        st = one_add(&folder->lessons[i], folder, out, err);
    vs_text_add(out->text, vs_text_get(&out->sections));
    vs_text_release(&out->sections);
    return st;
}

static enum vs_status lesson_find(const struct cli_lesson_folder *folder, const char *word,
                                  const struct cli_lesson **out, struct vs_error *err)
{
    char *end;
    const unsigned long number = strtoul(word, &end, 10);

    for (size_t i = 0; i < folder->count && !*end; i++) {
        if (folder->lessons[i].number == number) {
            *out = &folder->lessons[i];
            return VS_OK;
        }
    }
    return vs_fail(err, VS_E_USAGE,
                   "lesson: there is no lesson `%s`; `vramscope lesson` lists them", word);
}

/* What the arguments ask for, into `text`. */
static enum vs_status answer(const struct cli_args *args, const struct cli_lesson_folder *folder,
                             struct vs_text *text, bool *is_good, struct vs_error *err)
{
    const struct cli_lesson *lesson = NULL;
    struct output out = {.text = text, .is_good = true};
    struct vs_json json;
    enum vs_status st = VS_OK;

    if (args->positional_count && lesson_find(folder, args->positionals[0], &lesson, err))
        return err->status;
    if (lesson && cli_args_has(args, "code")) {
        vs_text_add_n(text, lesson->text, lesson->len);
        return VS_OK;
    }
    if (!lesson && !cli_args_has(args, "all") && !cli_args_has(args, "page")) {
        if (cli_args_has(args, "json"))
            list_json(folder, text);
        else
            list_add(folder, text);
        return VS_OK;
    }
    out.form = lesson ? FORM_LESSON : cli_args_has(args, "page") ? FORM_PAGE : FORM_LINE;
    if (cli_args_has(args, "json")) {
        out.json = &json;
        vs_json_init(&json, text);
        vs_json_object(&json);
        vs_json_key(&json, "lessons");
        vs_json_array(&json);
    }
    st = lesson ? one_add(lesson, folder, &out, err) : all_add(folder, &out, err);
    if (out.json) {
        vs_json_end(&json);
        vs_json_end(&json);
    }
    *is_good = out.is_good;
    return st;
}

/* --tui: returns the exit status. */
static int tui_run(const struct cli_args *args, const struct cli_lesson_folder *folder)
{
    const struct cli_lesson *lesson = NULL;
    struct cli_screen screen;
    struct vs_error err = VS_ERROR_INIT;

    if (!args->positional_count)
        (void)vs_fail(&err, VS_E_USAGE, "lesson: --tui opens one lesson; give its number");
    else if (!lesson_find(folder, args->positionals[0], &lesson, &err) &&
             !cli_screen_read(args, &screen, &err))
        return cli_lesson_tui(lesson, folder, &screen);
    return cli_fail(&err);
}

static int run(const struct cli_args *args)
{
    struct cli_lesson_folder folder = {.path = NULL};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    bool is_good = true;
    int status;

    if (cli_lesson_folder_read(cli_args_value(args, "from"), &folder, &err))
        status = cli_fail(&err);
    else if (cli_args_has(args, "tui"))
        status = tui_run(args, &folder);
    else if (answer(args, &folder, &text, &is_good, &err))
        status = cli_fail(&err);
    else
        status = cli_print(&text);
    if (!status && !is_good)
        status = 1;
    vs_text_release(&text);
    cli_lesson_folder_release(&folder);
    return status;
}

const struct cli_cmd cli_cmd_lesson = {
    .name = "lesson",
    .usage = "[N] [--all] [--json] | N --tui",
    .summary = "Run what articles advise for saving GPU memory, and say whether it helps",
    .help =
        "Without N: the list of lessons. A lesson has the advice, nets with and without it, and "
        "a verdict that is\n"
        "decided by the figures of this run. Exit status 1: the figures support no verdict, or "
        "a known figure is\n"
        "not reached.\n\n"
        "  vramscope lesson 10\n"
        "  vramscope lesson --all\n"
        "  vramscope lesson 10 --tui\n",
    .options = OPTIONS,
    .positionals_max = 1,
    .run = run,
};
