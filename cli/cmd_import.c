/*
 * cli/cmd_import.c - converts a memory snapshot dumped by a PyTorch program into a trace.
 *
 * For:            `vramscope import`.
 * Must not know:  how a snapshot becomes a trace: cli/importer.h.
 * Invariant:      everything that was left out is reported.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/cmds.h"
#include "cli/importer.h"
#include "import/partial.h"

#define OUT_DEFAULT "trace.db"

static const struct cli_option OPTIONS[] = {
    {"out", 'o', "TRACE", false, "the trace to write (default " OUT_DEFAULT ")"},
    {"device", 'd', "N", false, "only this one of its devices (default: all)"},
    {"force", 'f', NULL, false, "replace the trace if it exists"},
    {"strict", 0, NULL, false, "refuse a history that the allocator cannot have made"},
    {"json", 0, NULL, false, "print JSON; docs/formats/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

static enum vs_status device_get(const struct cli_args *args, int64_t *out, struct vs_error *err)
{
    const char *text = cli_args_value(args, "device");
    char *end = NULL;

    *out = text ? strtoll(text, &end, 10) : CLI_ALL_DEVICES;
    if (text && (end == text || *end || *out < 0))
        return vs_fail(err, VS_E_USAGE, "import: --device cannot be `%s`; give a number from 0 on",
                       text);
    return VS_OK;
}

static void add_text(const struct imp_import *import, const struct vs_memlist *list,
                     const char *path, struct vs_text *out)
{
    char events[VS_BYTES_TEXT_MAX];
    char blocks[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s: device %" PRIu64 ", %s recorded event%s, %s pre-existing block%s; ",
                 path, list->device, vs_bytes_exact_text(list->event_count, events),
                 list->event_count == 1 ? "" : "s",
                 vs_bytes_exact_text(import->blocks_before, blocks),
                 import->blocks_before == 1 ? "" : "s");
    if (list->other_count)
        vs_text_addf(out, "%" PRIu64 " events of unknown kinds passed over; ", list->other_count);
    if (!import->partial) {
        vs_text_add(out,
                    "a replay through PyTorch's allocator gives the same addresses and sizes\n");
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

static void import_json(const struct imp_import *import, const struct vs_memlist *list,
                        struct vs_json *json)
{
    vs_json_put_uint(json, "device", list->device);
    vs_json_put_uint(json, "recorded_events", list->event_count);
    vs_json_put_uint(json, "events", import->event_count);
    vs_json_put_uint(json, "blocks_before", import->blocks_before);
    vs_json_put_uint(json, "other_events", list->other_count);
    vs_json_put_uint(json, "segments", import->end_segments);
    vs_json_put_uint(json, "blocks", import->end_blocks);
    vs_json_put_string(json, "partial", import->partial);
    vs_json_key(json, "dropped");
    losses_json(import, 0, IMP_LOSS_DROPPED, json);
    vs_json_key(json, "unsure");
    losses_json(import, IMP_LOSS_DROPPED, IMP_LOSS_COUNT, json);
}

static void add_json(const struct cli_importer *s, const char *path, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_string(&json, "trace", path);
    import_json(&s->imports[s->shown], &s->lists[s->shown], &json);
    vs_json_key(&json, "devices");
    vs_json_array(&json);
    for (size_t i = 0; i < s->count; i++) {
        vs_json_object(&json);
        import_json(&s->imports[i], &s->lists[i], &json);
        vs_json_end(&json);
    }
    vs_json_end(&json);
    vs_json_end(&json);
}

static void add_all_text(const struct cli_importer *s, const char *path, struct vs_text *out)
{
    for (size_t i = 0; i < s->count; i++)
        add_text(&s->imports[i], &s->lists[i], path, out);
    if (s->count == 1) {
        if (s->imports->event_count)
            vs_text_addf(out, "`vramscope report %s` shows what fills the peak\n", path);
        return;
    }
    vs_text_addf(out,
                 "device %" PRIu64 " %s and is shown; %s@%" PRIu64 " is device %" PRIu64
                 ", in every command\n",
                 s->lists[s->shown].device,
                 cli_import_ran_out(&s->imports[s->shown]) ? "ran out of memory"
                                                           : "has the most events",
                 path, s->lists[s->shown ? 0 : s->count - 1].device,
                 s->lists[s->shown ? 0 : s->count - 1].device);
    for (size_t i = 0; i < s->count; i++)
        if (cli_import_ran_out(&s->imports[i]))
            vs_text_addf(out,
                         "device %" PRIu64 " ran out of memory: `vramscope report %s@%" PRIu64
                         "` says of what\n",
                         s->lists[i].device, path, s->lists[i].device);
}

static int run(const struct cli_args *args)
{
    static const struct cli_fact NO_FACTS[] = {{NULL, NULL}};
    const char *from = args->positionals[0];
    const char *path = cli_args_has(args, "out") ? cli_args_value(args, "out") : OUT_DEFAULT;
    struct cli_importer s = {.count = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    int64_t device;
    enum vs_status st = device_get(args, &device, &err);
    int status;

    vs_mem_keep();
    if (!st)
        st = cli_importer_read(from, device, cli_args_has(args, "strict"), &s, &err);
    if (!st)
        st = cli_importer_write(&s, strcmp(from, "-") == 0 ? "standard input" : from, NO_FACTS,
                                path, cli_args_has(args, "force"), true, &err);
    if (st) {
        status = cli_fail(&err);
        goto out;
    }
    if (cli_args_has(args, "json"))
        add_json(&s, path, &text);
    else
        add_all_text(&s, path, &text);
    status = cli_print(&text);
out:
    vs_text_release(&text);
    cli_importer_release(&s);
    return status;
}

const struct cli_cmd cli_cmd_import = {
    .name = "import",
    .usage = "FILE [-o trace.db] [--device N] [--strict] [--force] [--json]",
    .summary = "Make a trace of a memory snapshot that a PyTorch program dumped",
    .help =
        "FILE is what torch.cuda.memory._dump_snapshot wrote, of any version, or a pickle of "
        "torch.cuda.memory_snapshot(), or the page that\n"
        "torch.cuda._memory_viz (trace_plot, segment_plot) made of one; gzip is unpacked, - is "
        "standard input. Nothing in it is ever run.\n"
        "What was allocated before its first event is found by going backwards from the state "
        "at its end. Every event is then run through\n"
        "PyTorch's allocator, and must give the recorded result. If it does not (the history is "
        "cut, merged, or of another\n"
        "allocator), a part of it is imported, and the trace and every report list what is "
        "missing; --strict refuses it.\n\n"
        "What it does not say (steps, phases, categories, modules) is derived from its stacks, "
        "and marked as derived; docs/formats/import.md has the\n"
        "rules. No figure depends on it. Ranges that the program noted become marks.\n\n"
        "A trace of several devices is shown as that of the one that ran out of memory, or "
        "else has the most events; trace.db@1 is its\n"
        "device 1, in every command.\n"
        "report, sql, tui, diff and check take the trace as any other; there is no net in it, "
        "but whatif can run its requests through the\n"
        "allocator again.\n\n"
        "  vramscope import snapshot.pickle -o trace.db && vramscope report trace.db\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .run = run,
};
