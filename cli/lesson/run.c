/*
 * cli/lesson/run.c - see run.h.
 *
 * Must not know:  figures (figures.c), verdicts.
 * Invariant:      a run depends only on the lesson and the files that it names.
 */
#include "cli/lesson/run.h"

#include <string.h>

#include "base/mem.h"
#include "cli/netfile.h"
#include "whatif/whatif.h"

static void on_print(void *user, const char *text, size_t len)
{
    vs_text_add_n(user, text, len);
}

/* The net of a run, with its lines changed. */
static enum vs_status net_read(const struct cli_lesson *lesson, const struct cli_lesson_run *run,
                               const char *root, struct cli_netfile *out, struct vs_error *err)
{
    struct vs_text path = {NULL, 0, 0};
    enum vs_status st = VS_OK;

    if (run->net) {
        vs_text_addf(&path, "%s/%s", root, run->net);
        st = cli_netfile_read(vs_text_get(&path), out, err);
        vs_text_release(&path);
        vs_free(st ? NULL : out->name);
        if (!st)
            /* the path is shortened, so that the text does not depend on the folder */
            out->name = vs_strdup(run->net);
    } else {
        out->name = vs_strdup(lesson->name);
        out->text = vs_strndup(lesson->text, lesson->len);
        out->len = lesson->len;
    }
    for (size_t i = 0; i < run->define_count && !st; i++)
        st = cli_netfile_define(out, run->defines[i], err);
    return st;
}

static enum vs_status run_one(const struct cli_lesson *lesson, const struct cli_lesson_run *run,
                              const char *root, struct cli_lesson_trace *out, struct vs_error *err)
{
    struct cli_netfile file = {NULL, NULL, 0};
    enum vs_status st = net_read(lesson, run, root, &file, err);

    if (!st) {
        out->base = rpl_trace_new();
        out->trace = rpl_trace_new();
        rpl_trace_set_source(out->base, file.name, file.text);
        st = wif_run_printed(out->base, &run->toggles, on_print, &out->printed, out->trace, err);
    }
    if (!st)
        st = rpl_summary_fill(&out->sum, out->trace, err);
    if (!st)
        st = rpl_parameters_fill(&out->parameters, out->trace, err);
    if (!st)
        st = rpl_traffic_fill(&out->traffic, out->trace, err);
    cli_netfile_release(&file);
    return st;
}

enum vs_status cli_lesson_run(const struct cli_lesson *lesson, const char *root,
                              struct cli_lesson_runs *out, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    out->lesson = lesson;
    for (size_t i = 0; i < lesson->run_count && !st; i++) {
        st = run_one(lesson, &lesson->runs[i], root, &out->runs[i], err);
        if (st)
            vs_error_prefix(err, "%s, run %s", lesson->name, lesson->runs[i].name);
    }
    return st;
}

void cli_lesson_runs_release(struct cli_lesson_runs *runs)
{
    for (size_t i = 0; i < CLI_LESSON_RUNS_MAX; i++) {
        struct cli_lesson_trace *run = &runs->runs[i];

        rpl_summary_release(&run->sum);
        rpl_parameters_release(&run->parameters);
        rpl_traffic_release(&run->traffic);
        vs_text_release(&run->printed);
        rpl_trace_free(run->trace);
        rpl_trace_free(run->base);
    }
    memset(runs, 0, sizeof(*runs));
}
