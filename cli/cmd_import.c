/*
 * cli/cmd_import.c - makes a trace of a memory snapshot that a PyTorch program dumped.
 *
 * For:            `vramscope import`.
 * Must not know:  how snapshots are read (store/memlist.h) and what a trace makes of them (import/importing.h).
 * Invariant:      no trace is begun before the snapshot is understood, to its last event.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cmds.h"
#include "import/importing.h"
#include "import/partial.h"
#include "store/memlist.h"

#define OUT_DEFAULT "trace.db"

static const struct cli_option OPTIONS[] = {
    {"output", 'o', "TRACE", false, "the trace to write (default " OUT_DEFAULT ")"},
    {"device", 'd', "N", false, "which of its devices (default: the first that has events)"},
    {"force", 'f', NULL, false, "replace the trace if it exists"},
    {"strict", 0, NULL, false, "refuse a history that the allocator cannot have made"},
    {"json", 0, NULL, false, "print JSON; docs/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

/* --device; the first without it. */
static enum vs_status device_get(const struct cli_args *args, int64_t *out, struct vs_error *err)
{
    const char *text = cli_args_value(args, "device");
    char *end = NULL;

    *out = STO_SNAPSHOT_FIRST;
    if (!text)
        return VS_OK;
    *out = strtoll(text, &end, 10);
    if (end == text || *end || *out < 0)
        return vs_fail(err, VS_E_USAGE, "import: --device cannot be `%s`; a number from 0 is right",
                       text);
    return VS_OK;
}

static enum vs_status trace_write(const struct cli_args *args, const struct imp_import *import,
                                  const struct vs_memlist *list, const char *path,
                                  struct vs_error *err)
{
    const char *from = args->positionals[0];
    struct sto_writer_options options = {.force = cli_args_has(args, "force")};
    struct vs_error later = VS_ERROR_INIT;
    struct sto_writer *writer = NULL;
    enum vs_status st = sto_writer_open(path, &options, &writer, err);
    enum vs_status closed;

    if (st)
        return st;
    st = imp_write(import, list, strcmp(from, "-") == 0 ? "standard input" : from, writer, err);
    closed = sto_writer_close(writer, !st, st ? &later : err);
    return st ? st : closed;
}

static void add_text(const struct imp_import *import, const struct vs_memlist *list,
                     const char *path, struct vs_text *out)
{
    vs_text_addf(out,
                 "%s: device %" PRIu64 ", %zu recorded events, %" PRIu64
                 " blocks older than the first; ",
                 path, list->device, list->event_count, import->blocks_before);
    if (!import->partial) {
        vs_text_add(out, "every event and the state at the end are the allocator's\n");
        return;
    }
    vs_text_addf(out, "in part: %s\n", import->partial);
    for (int i = 0; i < IMP_LOSS_COUNT; i++)
        if (import->losses[i])
            vs_text_addf(out, "  %s %" PRIu64 " %s\n",
                         i < IMP_LOSS_DROPPED ? "left out:" : "not sure:", import->losses[i],
                         imp_loss_text((enum imp_loss)i));
}

static void losses_json(const struct imp_import *import, int from, int to, struct vs_json *json)
{
    vs_json_array(json);
    for (int i = from; i < to; i++) {
        if (!import->losses[i])
            continue;
        vs_json_object_flat(json);
        vs_json_put_uint(json, "count", import->losses[i]);
        vs_json_put_string(json, "what", imp_loss_text((enum imp_loss)i));
        vs_json_end(json);
    }
    vs_json_end(json);
}

static void add_json(const struct imp_import *import, const struct vs_memlist *list,
                     const char *path, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_string(&json, "trace", path);
    vs_json_put_uint(&json, "device", list->device);
    vs_json_put_uint(&json, "recorded_events", list->event_count);
    vs_json_put_uint(&json, "events", import->event_count);
    vs_json_put_uint(&json, "blocks_before", import->blocks_before);
    vs_json_put_uint(&json, "segments", import->end_segments);
    vs_json_put_uint(&json, "blocks", import->end_blocks);
    vs_json_put_string(&json, "partial", import->partial);
    vs_json_key(&json, "dropped");
    losses_json(import, 0, IMP_LOSS_DROPPED, &json);
    vs_json_key(&json, "unsure");
    losses_json(import, IMP_LOSS_DROPPED, IMP_LOSS_COUNT, &json);
    vs_json_end(&json);
}

static int run(const struct cli_args *args)
{
    const char *path = cli_args_value(args, "output");
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct vs_memlist list = {.events = NULL};
    struct imp_import import = {.events = NULL};
    int64_t device = 0;
    enum vs_status st = device_get(args, &device, &err);
    int status;

    path = path ? path : OUT_DEFAULT;
    if (!st)
        st = sto_memlist_read_whole(args->positionals[0], device, &list, &err);
    if (!st) {
        st = imp_make(&list, &import, &err);
        if (st && !cli_args_has(args, "strict")) {
            imp_release(&import);
            imp_make_partial(&list, err.text, &import);
            st = VS_OK;
        }
        if (st)
            vs_error_prefix(&err, "%s", args->positionals[0]);
    }
    if (!st)
        st = trace_write(args, &import, &list, path, &err);
    if (st) {
        status = cli_fail(&err);
        goto out;
    }
    if (cli_args_has(args, "json"))
        add_json(&import, &list, path, &text);
    else
        add_text(&import, &list, path, &text);
    status = cli_print(&text);
out:
    vs_text_release(&text);
    imp_release(&import);
    vs_memlist_release(&list);
    return status;
}

const struct cli_cmd cli_cmd_import = {
    .name = "import",
    .usage = "FILE [-o trace.db] [--device N] [--strict] [--force] [--json]",
    .summary = "Make a trace of a memory snapshot that a PyTorch program dumped",
    .help = "FILE is what torch.cuda.memory._dump_snapshot wrote, of any version, or a pickle of "
            "torch.cuda.memory_snapshot(), or the page that\n"
            "torch.cuda._memory_viz (trace_plot, segment_plot) made of one; gzip is unpacked, - is "
            "standard input. Nothing in it is ever run.\n"
            "What was allocated before its first event is found by going backwards from the state "
            "at its end. Every event is then run through\n"
            "PyTorch's allocator, and has to come out as recorded. A history that cannot (cut, "
            "merged, of another allocator) is imported in\n"
            "part, which the trace and every report say, with what was left out; --strict refuses "
            "it.\n\n"
            "report, sql, tui, diff and check take the trace as any other; there is no net in it, "
            "but whatif can run its requests through the\n"
            "allocator again.\n\n"
            "  vramscope import snapshot.pickle -o trace.db && vramscope report trace.db\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .run = run,
};
