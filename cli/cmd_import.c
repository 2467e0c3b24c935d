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

#include "base/bytes.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/cmds.h"
#include "import/importing.h"
#include "import/partial.h"
#include "replay/index.h"
#include "store/memlist.h"

#define OUT_DEFAULT "trace.db"

static const struct cli_option OPTIONS[] = {
    {"out", 'o', "TRACE", false, "the trace to write (default " OUT_DEFAULT ")"},
    {"device", 'd', "N", false, "only this one of its devices (default: all)"},
    {"force", 'f', NULL, false, "replace the trace if it exists"},
    {"strict", 0, NULL, false, "refuse a history that the allocator cannot have made"},
    {"json", 0, NULL, false, "print JSON; docs/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

/*
 * What is imported: a list and an import a device. busiest: the one with the most events, which a reader looks at first.
 */
struct session {
    const struct cli_args *args;
    struct vs_memlist *lists;
    struct imp_import *imports;
    size_t count;
    size_t busiest;
};

/* All devices, or that of --device. */
static enum vs_status lists_read(struct session *s, struct vs_error *err)
{
    const char *text = cli_args_value(s->args, "device");
    const char *path = s->args->positionals[0];
    int64_t device = 0;
    char *end = NULL;
    enum vs_status st;

    if (!text)
        return sto_memlist_read_devices(path, &s->lists, &s->count, err);
    device = strtoll(text, &end, 10);
    if (end == text || *end || device < 0)
        return vs_fail(err, VS_E_USAGE, "import: --device cannot be `%s`; a number from 0 is right",
                       text);
    s->lists = vs_calloc(1, sizeof(*s->lists));
    s->count = 1;
    st = sto_memlist_read_whole(path, device, s->lists, err);
    return st;
}

static enum vs_status imports_make(struct session *s, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    s->imports = vs_calloc(s->count, sizeof(*s->imports));
    for (size_t i = 0; i < s->count && !st; i++) {
        struct imp_import *import = &s->imports[i];

        st = imp_make(&s->lists[i], import, err);
        if (st && !cli_args_has(s->args, "strict")) {
            imp_release(import);
            imp_make_partial(&s->lists[i], err->text, import);
            st = VS_OK;
        }
        if (st)
            vs_error_prefix(err, "%s", s->args->positionals[0]);
        if (import->event_count > s->imports[s->busiest].event_count)
            s->busiest = i;
    }
    return st;
}

static enum vs_status trace_write(struct session *s, const char *path, struct vs_error *err)
{
    const char *from = s->args->positionals[0];
    struct sto_writer_options options = {.force = cli_args_has(s->args, "force")};
    struct vs_error later = VS_ERROR_INIT;
    struct sto_writer *writer = NULL;
    enum vs_status st = sto_writer_open(path, &options, &writer, err);
    enum vs_status closed;

    if (st)
        return st;
    st = imp_write(s->imports, s->lists, s->count, strcmp(from, "-") == 0 ? "standard input" : from,
                   writer, err);
    closed = sto_writer_close(writer, !st, st ? &later : err);
    /* who looks at it first makes it otherwise; that of several devices is never kept */
    if (!st && !closed && s->count == 1)
        (void)!rpl_index_make(path, s->imports->event_count, &later);
    return st ? st : closed;
}

static void session_release(struct session *s)
{
    for (size_t i = 0; i < s->count; i++) {
        vs_memlist_release(&s->lists[i]);
        if (s->imports)
            imp_release(&s->imports[i]);
    }
    vs_free(s->lists);
    vs_free(s->imports);
}

static void add_text(const struct imp_import *import, const struct vs_memlist *list,
                     const char *path, struct vs_text *out)
{
    char events[VS_BYTES_TEXT_MAX];
    char blocks[VS_BYTES_TEXT_MAX];

    vs_text_addf(out,
                 "%s: device %" PRIu64 ", %s recorded events, %s blocks older than the first; ",
                 path, list->device, vs_bytes_exact_text(list->event_count, events),
                 vs_bytes_exact_text(import->blocks_before, blocks));
    if (list->other_count)
        vs_text_addf(out, "%" PRIu64 " events of unknown kinds passed over; ", list->other_count);
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

static void add_json(const struct session *s, const char *path, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_string(&json, "trace", path);
    import_json(&s->imports[s->busiest], &s->lists[s->busiest], &json);
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

static void add_all_text(const struct session *s, const char *path, struct vs_text *out)
{
    for (size_t i = 0; i < s->count; i++)
        add_text(&s->imports[i], &s->lists[i], path, out);
    if (s->count > 1)
        vs_text_addf(out,
                     "device %" PRIu64 " has the most events and is shown; %s@%" PRIu64
                     " is device %" PRIu64 ", in every command\n",
                     s->lists[s->busiest].device, path,
                     s->lists[s->busiest ? 0 : s->count - 1].device,
                     s->lists[s->busiest ? 0 : s->count - 1].device);
}

static int run(const struct cli_args *args)
{
    const char *path = cli_args_value(args, "out");
    struct session s = {.args = args};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    enum vs_status st = lists_read(&s, &err);
    int status;

    path = path ? path : OUT_DEFAULT;
    if (!st)
        st = imports_make(&s, &err);
    if (!st)
        st = trace_write(&s, path, &err);
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
    session_release(&s);
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
        "PyTorch's allocator, and has to come out as recorded. A history that cannot (cut, "
        "merged, of another allocator) is imported in\n"
        "part, which the trace and every report say, with what was left out; --strict refuses "
        "it.\n\n"
        "What it does not say (steps, phases, categories, modules) is derived from its stacks, "
        "and marked as derived; docs/import.md has the\n"
        "rules. No figure depends on it. Ranges that the program noted become marks.\n\n"
        "A trace of several devices is shown as that of the one with the most events; trace.db@1 "
        "is its device 1, in every command.\n"
        "report, sql, tui, diff and check take the trace as any other; there is no net in it, "
        "but whatif can run its requests through the\n"
        "allocator again.\n\n"
        "  vramscope import snapshot.pickle -o trace.db && vramscope report trace.db\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .run = run,
};
