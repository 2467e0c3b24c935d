/*
 * cli/whatif/cmd_why.c - prints who holds the blocks that are alive at an event; a program runs again for it.
 *
 * For:            `vramscope why`.
 * Must not know:  how holders are found (whatif/holders.h).
 * Invariant:      no program is started that the user has not agreed to.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/cmds.h"
#include "cli/whatif/program.h"
#include "replay/inspect/alive.h"
#include "replay/inspect/block_text.h"
#include "replay/report/report.h"
#include "replay/trace/found.h"
#include "whatif/holders.h"

#define TOP_DEFAULT 20
#define TOP_MAX 1000000

static const struct cli_option OPTIONS[] = {
    {"at", 0, "EVENT", false, "right after this event (default: the peak, or out of memory)"},
    {"top", 'n', "N", false, "how many of the largest blocks to show (default 20)"},
    {"rerun", 0, NULL, false,
     "of a program: run it again without asking, even if another user or machine recorded it"},
    {"json", 0, NULL, false, "print JSON; docs/formats/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

/* ---- running again ---- */

/* Find the holders at `seq`, unless the trace has them. */
static enum vs_status found_get(const struct cli_args *args, struct rpl_index *index, uint64_t seq,
                                struct cli_program_whatif *run, struct vs_error *err)
{
    struct rpl_trace *trace = rpl_index_trace(index);
    char what[96];
    enum vs_status st;

    if (!rpl_trace_is_imported(trace) || rpl_found_has(trace, seq))
        return VS_OK;
    st = wif_holders_check(trace, err);
    if (!st)
        st = cli_program_agree(run, trace, cli_args_has(args, "rerun"), false, err);
    if (!st) {
        snprintf(what, sizeof(what), "the program is running again up to event %" PRIu64, seq);
        cli_running_say(&run->running, what);
        st = wif_holders_find(index, seq, cli_running_progress, &run->running, err);
        cli_running_clear(&run->running);
    }
    return st;
}

/* ---- what is printed ---- */

static void add_size(uint64_t bytes, int width, struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%*s", width, vs_bytes_text(bytes, buf));
}

static void add_block(const struct rpl_trace *trace, const struct rpl_why *why, struct vs_text *out)
{
    add_size(why->block.bytes, 11, out);
    vs_text_addf(out, "  %-10s ", vs_category_name((enum vs_category)why->block.category));
    rpl_shape_text(trace, why->block.tensor, out);
    vs_text_add(out, "  ");
    rpl_why_text(trace, why, out);
    vs_text_add_char(out, '\n');
    for (size_t i = 0; i < why->holder_count; i++) {
        vs_text_add(out, "               ");
        rpl_holder_text(trace, &why->holders[i], out);
        vs_text_add_char(out, '\n');
    }
}

static void add_head(const struct rpl_trace *trace, const char *name,
                     const struct rpl_cursor *cursor, struct vs_text *out)
{
    const struct rpl_live *live = rpl_cursor_live(cursor);
    const struct rpl_here here = rpl_cursor_here(cursor);
    char seq[VS_BYTES_TEXT_MAX];
    char all[VS_BYTES_TEXT_MAX];

    vs_text_addf(
        out, "%s, event %s of %s, %s", name, vs_bytes_exact_text(rpl_cursor_seq(cursor), seq),
        vs_bytes_exact_text(rpl_trace_event_count(trace), all), vs_phase_name(live->phase));
    if (live->step >= 0)
        vs_text_addf(out, " of step %" PRId64, live->step);
    if (*here.op)
        vs_text_addf(out, ", %s", here.op);
    if (*here.module)
        vs_text_addf(out, " in %s", here.module);
    vs_text_add(out, ": ");
    add_size(live->allocated, 0, out);
    vs_text_addf(out, " in %zu blocks\n\n", live->block_count);
}

/* The blocks alive at the cursor, the largest first; the caller frees them. */
static struct rpl_block *blocks_sorted(const struct rpl_cursor *cursor)
{
    const struct rpl_live *live = rpl_cursor_live(cursor);
    struct rpl_block *blocks = vs_alloc((live->block_count + 1) * sizeof(*blocks));

    if (live->block_count)
        memcpy(blocks, live->blocks, live->block_count * sizeof(*blocks));
    qsort(blocks, live->block_count, sizeof(*blocks), rpl_block_by_bytes);
    return blocks;
}

/* json NULL: as text. */
static enum vs_status blocks_print(struct rpl_cursor *cursor, size_t top, struct vs_json *json,
                                   struct vs_text *out, struct vs_error *err)
{
    const size_t count = rpl_cursor_live(cursor)->block_count;
    struct rpl_trace *trace = rpl_index_trace(rpl_cursor_index(cursor));
    struct rpl_block *blocks = blocks_sorted(cursor);
    struct rpl_why why = {.id = 0};
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < count && i < top && !st; i++) {
        why.id = blocks[i].id;
        st = rpl_alive_why(cursor, &why, err);
        rpl_why_distinct(trace, &why);
        if (!st && json)
            rpl_why_json(trace, &why, json);
        else if (!st)
            add_block(trace, &why, out);
    }
    if (!json && count > top)
        vs_text_addf(out, "  and %zu smaller ones; --top shows more\n", count - top);
    rpl_why_release(&why);
    vs_free(blocks);
    return st;
}

static enum vs_status print(struct rpl_cursor *cursor, const char *name, size_t top, bool is_json,
                            struct vs_text *out, struct vs_error *err)
{
    const struct rpl_live *live = rpl_cursor_live(cursor);
    struct vs_json json;
    enum vs_status st;

    if (!is_json) {
        add_head(rpl_index_trace(rpl_cursor_index(cursor)), name, cursor, out);
        return blocks_print(cursor, top, NULL, out, err);
    }
    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_uint(&json, "event", rpl_cursor_seq(cursor));
    vs_json_put_int(&json, "step", live->step);
    vs_json_put_string(&json, "phase", vs_phase_name(live->phase));
    vs_json_put_uint(&json, "allocated", live->allocated);
    vs_json_put_uint(&json, "blocks", live->block_count);
    vs_json_key(&json, "largest");
    vs_json_array(&json);
    st = blocks_print(cursor, top, &json, out, err);
    vs_json_end(&json);
    vs_json_end(&json);
    return st;
}

/* ---- the command ---- */

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_trace *trace = NULL;
    struct rpl_index *index = NULL;
    struct rpl_cursor *cursor = NULL;
    struct cli_program_whatif program = {.command = {NULL, 0, 0}};
    size_t top = TOP_DEFAULT;
    uint64_t seq = 0;
    enum vs_status st = cli_args_count(args, "top", TOP_DEFAULT, TOP_MAX, &top, &err);
    int status;

    if (!st)
        st = rpl_trace_open(args->positionals[0], &trace, &err);
    if (!st)
        st = cli_event_get(args, trace, &seq, &err);
    if (!st)
        st = rpl_index_open(trace, NULL, NULL, &index, &err);
    if (!st)
        st = found_get(args, index, seq, &program, &err);
    if (!st) {
        cli_program_whatif_release(&program);
        cursor = rpl_cursor_new(index);
        st = rpl_cursor_seek(cursor, seq, &err);
    }
    if (!st)
        st = print(cursor, args->positionals[0], top, cli_args_has(args, "json"), &text, &err);
    status = st ? cli_fail(&err) : cli_print(&text);
    rpl_cursor_free(cursor);
    rpl_index_free(index);
    rpl_trace_free(trace);
    vs_text_release(&text);
    cli_program_whatif_release(&program);
    return status;
}

const struct cli_cmd cli_cmd_why = {
    .name = "why",
    .usage = "TRACE [--at EVENT] [--top N] [--rerun] [--json]",
    .summary = "Say who holds each block at the peak, or at any other event",
    .help = "The trace of a net has all holders. A program that was recorded over a simulated GPU "
            "is run again up to the event, when\n"
            "you agree, and examined there: variables of all frames, attributes, items of lists "
            "and dictionaries, .grad, states of\n"
            "optimizers, what autograd saved. What is found is kept in the trace: `report` and "
            "`tui` show it, too.\n\n"
            "  vramscope why train.db\n"
            "  vramscope why train.db --at 4711 --top 5 --rerun\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .run = run,
};
