/*
 * cli/cmds.c - see cmds.h.
 *
 * Must not know:  what a command does.
 * Invariant:      results go to stdout, messages to stderr.
 */
#include "cli/cmds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/printable.h"
#include "replay/trace/trace.h"

static const struct cli_cmd *const CMDS[] = {
    &cli_cmd_record, &cli_cmd_import, &cli_cmd_report, &cli_cmd_tui,     &cli_cmd_why,
    &cli_cmd_python, &cli_cmd_whatif, &cli_cmd_sweep,  &cli_cmd_diff,    &cli_cmd_check,
    &cli_cmd_export, &cli_cmd_match,  &cli_cmd_sql,    &cli_cmd_toggles, &cli_cmd_ops,
    &cli_cmd_smi,    &cli_cmd_lesson, &cli_cmd_advise, &cli_cmd_doctor,  &cli_cmd_mcp,
};
#define CMD_COUNT (sizeof(CMDS) / sizeof(CMDS[0]))

const struct cli_cmd *cli_cmd_at(size_t i)
{
    return i < CMD_COUNT ? CMDS[i] : NULL;
}

const struct cli_cmd *cli_cmd_find(const char *name)
{
    for (size_t i = 0; i < CMD_COUNT; i++)
        if (strcmp(CMDS[i]->name, name) == 0)
            return CMDS[i];
    return NULL;
}

const struct cli_cmd *cli_cmd_nearest(const char *name)
{
    unsigned best = vs_word_distance_limit(name) + 1;
    const struct cli_cmd *found = NULL;

    for (size_t i = 0; i < CMD_COUNT; i++) {
        unsigned distance = vs_word_distance(name, CMDS[i]->name);

        if (distance < best) {
            best = distance;
            found = CMDS[i];
        }
    }
    return found;
}

int cli_fail(const struct vs_error *err)
{
    struct vs_text shown = {NULL, 0, 0};

    cli_printable(err->text, strlen(err->text), &shown);
    fprintf(stderr, "vramscope: %s\n", vs_text_get(&shown));
    vs_text_release(&shown);
    return err->status == VS_E_USAGE ? 2 : 1;
}

int cli_print_of(const struct rpl_trace *trace, const struct vs_text *text)
{
    struct vs_error err = VS_ERROR_INIT;

    return rpl_trace_check(trace, &err) ? cli_fail(&err) : cli_print(text);
}

int cli_print(const struct vs_text *text)
{
    struct vs_text shown = {NULL, 0, 0};
    bool is_written;

    if (isatty(STDOUT_FILENO)) {
        cli_printable(vs_text_get(text), text->len, &shown);
        text = &shown;
    }
    is_written = fwrite(vs_text_get(text), 1, text->len, stdout) == text->len && !fflush(stdout);
    if (!is_written)
        fprintf(stderr, "vramscope: cannot write the result: %s\n", strerror(errno));
    vs_text_release(&shown);
    return is_written ? 0 : 1;
}
