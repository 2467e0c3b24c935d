/*
 * cli/whatif/cmd_python.c - opens a prompt of Python's debugger in a recorded program at an event.
 *
 * For:            `vramscope python`, and the TUI's `:python`, which runs it.
 * Must not know:  how a program is stopped (whatif/holders.h).
 * Invariant:      no program is started that the user has not agreed to.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/cmds.h"
#include "cli/whatif/program.h"
#include "replay/index/cursor.h"
#include "whatif/holders.h"

#define STATUS_INTERRUPTED 130 /* as of a shell whose program ^C ended */

static const struct cli_option OPTIONS[] = {
    {"at", 0, "EVENT", false, "right after this event (default: the peak, or out of memory)"},
    {"rerun", 0, NULL, false,
     "run the program again without asking, even if another user or machine recorded it"},
    {NULL, 0, NULL, false, NULL},
};

/* Which event it is, on stderr. */
static enum vs_status say_event(struct rpl_index *index, uint64_t seq, struct vs_error *err)
{
    struct rpl_cursor *cursor = rpl_cursor_new(index);
    enum vs_status st = rpl_cursor_seek(cursor, seq, err);

    if (!st) {
        const struct rpl_here here = rpl_cursor_here(cursor);

        fprintf(stderr,
                "vramscope: the program runs up to event %" PRIu64
                ": %s%s%s%s%s; there `c` runs it "
                "to its end, `q` ends it\n",
                seq, vs_event_kind_name((enum vs_event_kind)here.event.kind),
                *here.op ? " by " : "", here.op, *here.module ? " in " : "", here.module);
    }
    rpl_cursor_free(cursor);
    return st;
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct cli_program_whatif program = {.command = {NULL, 0, 0}};
    struct rpl_trace *trace = NULL;
    struct rpl_index *index = NULL;
    uint64_t seq = 0;
    bool is_run = false;
    enum vs_status st = rpl_trace_open(args->positionals[0], &trace, &err);
    int status;

    if (!st)
        st = wif_holders_check(trace, &err);
    if (!st)
        st = cli_event_get(args, trace, &seq, &err);
    if (!st)
        st = rpl_index_open(trace, NULL, NULL, &index, &err);
    if (!st)
        st = cli_program_agree(&program, trace, cli_args_has(args, "rerun"), true, &err);
    if (!st)
        st = say_event(index, seq, &err);
    if (!st)
        is_run = true;
    if (is_run)
        st = wif_holders_prompt(index, seq, cli_running_progress, &program.running, &err);
    status = st ? cli_fail(&err) : 0;
    if (is_run && st == VS_E_STOPPED)
        status = STATUS_INTERRUPTED;
    rpl_index_free(index);
    rpl_trace_free(trace);
    cli_program_whatif_release(&program);
    return status;
}

const struct cli_cmd cli_cmd_python = {
    .name = "python",
    .usage = "TRACE [--at EVENT] [--rerun]",
    .summary = "Open a prompt in a recorded program at the peak, or at any other event",
    .help =
        "A program that was recorded over a simulated GPU is run again up to the event, when you "
        "agree, and Python's debugger opens\n"
        "there, in the innermost frame of the program's own: `p x.shape`, `w`, `u` and `d` "
        "through its frames, `n` to the next line.\n\n"
        "  vramscope python train.db\n"
        "  vramscope python train.db --at 4711\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .run = run,
};
