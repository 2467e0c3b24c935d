/*
 * cli/cmd_export.c - writes a trace in a format of another tool.
 *
 * For:            `vramscope export`.
 * Must not know:  the contents of a format (export/export.h).
 * Invariant:      the output file is replaced only by a complete one: the export is written to a temporary file in the
 *                 same folder, which is renamed at the end. After a failure the old file is unchanged.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cmds.h"
#include "cli/export_whatifs.h"
#include "export/export.h"
#include "export/gzip.h"
#include "whatif/whatif.h"

static const struct cli_option OPTIONS[] = {
    {"format", 0, "F", false, "the format; see above"},
    {"out", 'o', "FILE", false,
     "the file to write; - or none: standard output; a name that ends with .gz is compressed"},
    {"table", 0, "T", false, "csv, json: events (default) or blocks"},
    {"at", 0, "WHEN", false,
     "collapsed, speedscope: peak (default), end, event=N, or step=N (the highest of a step)"},
    {"whatif", 'w', "TOGGLE=VALUE", true,
     "svg: run the net again with this toggle and draw its peak as a line; may be given more than "
     "once"},
    {"whatifs", 0, "on|off", false,
     "html: run the net again with each toggle (default: on, up to 500,000 events)"},
    {"force", 'f', NULL, false, "replace the file if it exists"},
    {NULL, 0, NULL, false, NULL},
};

/*
 * The output. path: as given, NULL: standard output. beside: the temporary file it is written to until it is complete,
 * NULL: it is written directly. file: `beside` or `path`, open; packed: the gzip stream into it, or NULL.
 */
struct target {
    const char *path;
    char *beside;
    FILE *file;
    FILE *packed;
};

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);

    return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

static enum vs_status cannot_write(const char *path, const char *why, struct vs_error *err)
{
    return vs_fail(err, VS_E_IO, "%s: cannot be written: %s", path, why);
}

/* A regular file is written to a temporary file first; a pipe or device is written directly. */
static enum vs_status file_open(struct target *target, bool force, struct vs_error *err)
{
    struct stat there;
    bool exists = stat(target->path, &there) == 0;
    struct vs_text name = {NULL, 0, 0};
    int fd;

    if (exists && S_ISDIR(there.st_mode))
        return cannot_write(target->path, "it is a folder; name a file", err);
    if (exists && S_ISREG(there.st_mode) && !force)
        return vs_fail(err, VS_E_EXISTS, "%s: it exists already; --force replaces it",
                       target->path);
    if (exists && !S_ISREG(there.st_mode)) {
        target->file = fopen(target->path, "wb");
        return target->file ? VS_OK : cannot_write(target->path, strerror(errno), err);
    }
    vs_text_addf(&name, "%s.new-XXXXXX", target->path);
    target->beside = vs_text_take(&name);
    fd = mkstemp(target->beside);
    target->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (target->file) {
        mode_t mask = umask(0);

        umask(mask);
        (void)fchmod(fd, exists ? there.st_mode & 0777 : 0666 & ~mask);
        return VS_OK;
    }
    cannot_write(target->path, strerror(errno), err);
    vs_free(target->beside);
    target->beside = NULL;
    return VS_E_IO;
}

static enum vs_status target_open(struct target *target, const struct cli_args *args,
                                  const struct exp_format_info *info, struct vs_error *err)
{
    const char *path = cli_args_value(args, "out");
    enum vs_status st = VS_OK;

    if (path && !*path)
        return vs_fail(err, VS_E_USAGE, "export: --out needs the name of a file");
    if (path && strcmp(path, "-") != 0) {
        target->path = path;
        st = file_open(target, cli_args_has(args, "force"), err);
        if (!st && ends_with(path, ".gz")) {
            target->packed = exp_gzip_open(target->file);
            if (!target->packed)
                st = cannot_write(path, strerror(errno), err);
        }
        return st;
    }
    target->file = stdout;
    if ((info->takes & EXP_BINARY) && isatty(STDOUT_FILENO))
        return vs_fail(err, VS_E_USAGE,
                       "export: the format is binary (%s); name a file with -o, such as -o %s%s",
                       info->name, info->name, info->ending);
    return VS_OK;
}

/* Close the output; if `st` is VS_OK, rename the temporary file to its final name. */
static enum vs_status target_close(struct target *target, enum vs_status st, struct vs_error *err)
{
    const char *path = target->path ? target->path : "standard output";
    bool ok = true;

    errno = 0;
    if (target->packed && fclose(target->packed) != 0)
        ok = false;
    if (target->path && target->file && fclose(target->file) != 0)
        ok = false;
    if (!st && !ok)
        st = cannot_write(path, strerror(errno ? errno : EIO), err);
    if (!st && target->beside && rename(target->beside, target->path) != 0)
        st = cannot_write(path, strerror(errno), err);
    if (st && target->beside)
        unlink(target->beside);
    vs_free(target->beside);
    return st;
}

/* "peak", "end", "event=812", "step=2". */
static bool at_read(const char *text, struct exp_position *out)
{
    char *end;

    if (strcmp(text, "peak") == 0 || strcmp(text, "end") == 0) {
        out->when = *text == 'p' ? EXP_AT_PEAK : EXP_AT_END;
        return true;
    }
    if (strncmp(text, "event=", 6) == 0)
        out->when = EXP_AT_EVENT;
    else if (strncmp(text, "step=", 5) == 0)
        out->when = EXP_AT_STEP;
    else
        return false;
    text = strchr(text, '=') + 1;
    errno = 0;
    out->number = strtoll(text, &end, 10);
    return end != text && !*end && !errno && (isdigit((unsigned char)*text) || *text == '-');
}

static enum vs_status at_get(const struct cli_args *args, const struct exp_format_info *info,
                             struct exp_position *out, struct vs_error *err)
{
    const char *text = cli_args_value(args, "at");

    if (!text)
        return VS_OK;
    if (!(info->takes & EXP_POSITION))
        return vs_fail(err, VS_E_USAGE, "export: --at is not supported by the format %s",
                       info->name);
    if (at_read(text, out))
        return VS_OK;
    return vs_fail(err, VS_E_USAGE,
                   "export: --at cannot be `%s`; legal: peak, end, event=N, step=N", text);
}

static enum vs_status options_fill(const struct cli_args *args, struct exp_options *out,
                                   struct vs_error *err)
{
    const char *format = cli_args_value(args, "format");
    const char *table = cli_args_value(args, "table");
    const struct exp_format_info *info;
    enum vs_status st;

    if (!format)
        return vs_fail(err, VS_E_USAGE,
                       "export: --format is missing; `vramscope export --help` lists the formats");
    st = exp_format_find(format, &out->format, err);
    if (st) {
        vs_error_prefix(err, "export");
        return st;
    }
    info = exp_format_info(out->format);
    if (table && !(info->takes & EXP_TABLES))
        return vs_fail(err, VS_E_USAGE, "export: --table is not supported by the format %s",
                       info->name);
    if (table && strcmp(table, "blocks") == 0)
        out->table = EXP_TABLE_BLOCKS;
    else if (table && strcmp(table, "events") != 0)
        return vs_fail(err, VS_E_USAGE, "export: --table cannot be `%s`; legal: events, blocks",
                       table);
    return at_get(args, info, &out->at, err);
}

/* "trace.db@1": only that device. */
static bool names_device(const char *path)
{
    const char *at = strrchr(path, '@');

    return at && at[1] && strspn(at + 1, "0123456789") == strlen(at + 1);
}

/* Without this a file over its size limit would end the program by a signal instead of an error with a reason. */
static void signals_set(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGXFSZ, &ignore, NULL);
}

/* The trace, in memory, of a what-if of the net, and its name. */
struct whatif {
    struct rpl_trace *trace;
    struct rpl_index *index;
    struct vs_text name;
};

static enum vs_status whatif_run(const struct cli_args *args, struct rpl_trace *base,
                                 struct exp_options *options, struct whatif *out,
                                 struct vs_error *err)
{
    struct vs_toggles set = {{NULL}};
    enum vs_status st = VS_OK;
    const char *pair;

    if (!cli_args_has(args, "whatif"))
        return VS_OK;
    if (!(exp_format_info(options->format)->takes & EXP_SECOND))
        return vs_fail(err, VS_E_USAGE, "export: --whatif is not supported by the format %s",
                       exp_format_info(options->format)->name);
    vs_text_add(&out->name, "what-if");
    for (size_t i = 0; (pair = cli_args_value_at(args, "whatif", i)) != NULL && !st; i++) {
        st = vs_toggles_set_pair(&set, pair, err);
        vs_text_addf(&out->name, " %s", pair);
    }
    if (st)
        vs_error_prefix(err, "export: --whatif");
    out->trace = rpl_trace_new();
    if (!st)
        st = wif_run(base, &set, out->trace, err);
    if (!st)
        st = rpl_index_open(out->trace, NULL, NULL, &out->index, err);
    options->second = out->index;
    options->second_name = vs_text_get(&out->name);
    vs_toggles_release(&set);
    return st;
}

/* Run the what-ifs of a report, unless they are switched off or the trace is long and they were not asked for. */
static enum vs_status whatifs_run(const struct cli_args *args, struct rpl_index *index,
                                  struct exp_options *options, struct cli_whatifs **out,
                                  struct vs_error *err)
{
    const struct exp_format_info *info = exp_format_info(options->format);
    const char *text = cli_args_value(args, "whatifs");
    enum vs_status st = VS_OK;

    if (text && !(info->takes & EXP_WHATIFS))
        return vs_fail(err, VS_E_USAGE, "export: --whatifs is not supported by the format %s",
                       info->name);
    if (text && strcmp(text, "on") != 0 && strcmp(text, "off") != 0)
        return vs_fail(err, VS_E_USAGE, "export: --whatifs cannot be `%s`; legal: on, off", text);
    if (!(info->takes & EXP_WHATIFS) || (text && strcmp(text, "off") == 0) ||
        (!text && rpl_index_event_count(index) > CLI_WHATIFS_EVENTS_MAX))
        return VS_OK;
    st = cli_whatifs_run(index, out, err);
    options->whatifs = cli_whatifs_rows(*out, &options->whatif_count);
    return st;
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct exp_options options = {.name = args->positionals[0],
                                  .is_alone = names_device(args->positionals[0])};
    struct target target = {.path = NULL};
    struct whatif whatif = {.trace = NULL};
    struct cli_whatifs *whatifs = NULL;
    struct rpl_trace *trace = NULL;
    struct rpl_index *index = NULL;
    enum vs_status st = options_fill(args, &options, &err);

    signals_set();
    if (!st)
        st = rpl_trace_open(args->positionals[0], &trace, &err);
    if (!st)
        st = rpl_index_open(trace, NULL, NULL, &index, &err);
    if (!st)
        st = whatif_run(args, trace, &options, &whatif, &err);
    if (!st)
        st = whatifs_run(args, index, &options, &whatifs, &err);
    if (!st)
        st = target_open(&target, args, exp_format_info(options.format), &err);
    options.to = target.path ? target.path : "standard output";
    if (!st)
        st = exp_write(index, &options, target.packed ? target.packed : target.file, &err);
    if (!st)
        st = rpl_trace_check(trace, &err);
    st = target_close(&target, st, &err);
    cli_whatifs_free(whatifs);
    rpl_index_free(whatif.index);
    rpl_trace_free(whatif.trace);
    vs_text_release(&whatif.name);
    rpl_index_free(index);
    rpl_trace_free(trace);
    return st ? cli_fail(&err) : 0;
}

const struct cli_cmd cli_cmd_export = {
    .name = "export",
    .usage = "TRACE --format F [-o FILE] [--table T] [--at WHEN] [--whatif T=V] [--whatifs on|off] "
             "[--force]",
    .summary = "Write a trace in the formats of other tools",
    .help =
        "  snapshot    a memory snapshot as PyTorch dumps it: torch.cuda._memory_viz, "
        "pytorch.org/memory_viz, vramscope import\n"
        "  perfetto    steps, modules, ops and bytes by category over time: ui.perfetto.dev, "
        "chrome://tracing\n"
        "  collapsed   the live set after an event, as stacks with bytes: flamegraph.pl\n"
        "  speedscope  the same for speedscope.app\n"
        "  svg         the timeline as a drawing for a report or a pull request\n"
        "  html        a report in one file for a browser: timeline to zoom, blocks, the peak, the "
        "net, what-ifs\n"
        "  csv, json   every event, or with --table blocks every block: a row or an object per "
        "line\n\n"
        "  vramscope export trace.db --format snapshot -o snapshot.pickle\n"
        "  vramscope export trace.db --format perfetto -o trace.json.gz\n"
        "  vramscope export trace.db --format collapsed | flamegraph.pl --countname bytes > "
        "peak.svg\n"
        "  vramscope export trace.db --format svg --whatif amp=fp16 -o timeline.svg\n"
        "  vramscope export trace.db --format html -o report.html\n"
        "  vramscope export trace.db --format csv --table blocks -o blocks.csv\n",
    .options = OPTIONS,
    .positionals_min = 1,
    .positionals_max = 1,
    .run = run,
};
