/*
 * cli/mcp/cmd_mcp.c - `mcp`: answers questions about traces over stdin and stdout, for other programs.
 *
 * For:            `vramscope mcp`.
 * Must not know:  the messages.
 * Invariant:      stdout has nothing but messages of the protocol, one a line.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmds.h"
#include "cli/mcp/mcp.h"

static const struct cli_option OPTIONS[] = {
    {NULL, 0, NULL, false, NULL},
};

/* Read one line without its end, of at most MCP_MESSAGE_MAX bytes; what is longer is read to its end and left out. */
static bool line_read(FILE *in, struct vs_text *line, bool *is_too_long)
{
    int c;

    vs_text_clear(line);
    *is_too_long = false;
    while ((c = getc_unlocked(in)) != EOF && c != '\n') {
        if (line->len < MCP_MESSAGE_MAX)
            vs_text_add_char(line, (char)c);
        else
            *is_too_long = true;
    }
    if (line->len && line->data[line->len - 1] == '\r')
        line->data[--line->len] = 0;
    return c != EOF || line->len;
}

static const char TOO_LONG[] = "{\"jsonrpc\": \"2.0\", \"id\": null, \"error\": {\"code\": -32600, "
                               "\"message\": \"a message has at most 1 MiB\"}}\n";

static int serve(struct mcp_server *server, FILE *in)
{
    struct vs_text line = {NULL, 0, 0};
    struct vs_text answer = {NULL, 0, 0};
    bool is_too_long;
    int status = 0;

    while (!status && line_read(in, &line, &is_too_long)) {
        vs_text_clear(&answer);
        if (is_too_long)
            vs_text_add(&answer, TOO_LONG);
        else if (line.len)
            mcp_server_answer(server, line.data, line.len, &answer);
        if (answer.len)
            status = cli_print(&answer);
    }
    vs_text_release(&line);
    vs_text_release(&answer);
    return status;
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct mcp_server server = {.reader = NULL};
    int status;

    if (mcp_server_open(&server, args->positional_count ? args->positionals[0] : NULL, &err))
        status = cli_fail(&err);
    else
        status = serve(&server, stdin);
    mcp_server_close(&server);
    return status;
}

const struct cli_cmd cli_cmd_mcp = {
    .name = "mcp",
    .usage = "[TRACE]",
    .summary = "Answer questions about traces for other programs (Model Context Protocol)",
    .help = "A server of the Model Context Protocol over stdin and stdout, as agents start it. Its "
            "tools: peak, holders, why_alive,\n"
            "diff, whatif, advise, query. TRACE is what they read where a call names no trace. "
            "Answers are bounded, and refer to\n"
            "events and blocks by number. No program is ever started: a what-if runs the net of a "
            "trace without data.\n\n"
            "  vramscope mcp\n"
            "  vramscope mcp trace.db\n",
    .options = OPTIONS,
    .positionals_min = 0,
    .positionals_max = 1,
    .run = run,
};
