/*
 * tests/programs/corpus.c - see corpus.h.
 */
#include "tests/programs/corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "store/cell.h"
#include "tests/skip.h"

#define WORDS_MAX 7
#define CORPUS_COMMAND_MAX 320
#define SAMPLE_STEPS "2"

int corpus_setup(void **state)
{
    (void)state;
    setenv("XDG_CACHE_HOME", program_path("cache"), 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("PYTHONPATH", "tests/programs", 1);
    setenv("HF_HUB_OFFLINE", "1", 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("VRAMSCOPE_SAVE_EVERY", "0", 1);
    unsetenv("PYTORCH_CUDA_ALLOC_CONF");
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("RANK");
    return 0;
}

int corpus_cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static bool python_has(const char *python, const char *expression)
{
    char command[2048];

    snprintf(command, sizeof(command),
             "'%s' -c 'import importlib.util as u, os, sys\n"
             "def has(name):\n"
             "    try:\n"
             "        return u.find_spec(name)\n"
             "    except ImportError:\n"
             "        return None\n"
             "sys.exit(not (%s))' >'%s' 2>&1",
             python, expression, program_path("python.said"));
    return system(command) == 0;
}

const char *corpus_python(const char *modules)
{
    static char found[512];
    const char *given = getenv("VRAMSCOPE_TORCH_PYTHON");
    const char *python = given && *given ? given : "python3";
    char expression[512];

#ifndef __x86_64__
    tests_skip("a GPU is simulated on x86-64 alone");
#endif
    if (!*found && !python_has(python, "has(\"torch\") and os.path.exists(os.path.join(os.path."
                                       "dirname(has(\"torch\").origin), \"lib\", "
                                       "\"libtorch_cuda.so\"))"))
        tests_skip("%s has no PyTorch for CUDA (VRAMSCOPE_TORCH_PYTHON names one that has)",
                   python);
    snprintf(found, sizeof(found), "%s", python);
    snprintf(expression, sizeof(expression), "all(has(m) for m in \"%s\".split())",
             modules ? modules : "torch");
    if (modules && !python_has(found, expression))
        tests_skip("%s lacks one of: %s", found, modules);
    return found;
}

/* ---- one recording ---- */

/* option, value: one more option of `record`. */
static struct program run(char *const *words, int ranks, const char *gpu, const char *observe,
                          const char *option, const char *value)
{
    const char *python = corpus_python(NULL);
    const char *trace = program_path("trace.db");
    char count[16];

    if (!ranks)
        return program_run("record", "--gpu", gpu, "--observe", observe, option, value, "-f", "-o",
                           trace, "--", python, words[0], words[1], words[2], words[3], words[4],
                           words[5], NULL);
    snprintf(count, sizeof(count), "%d", ranks);
    return program_run("record", "--gpu", gpu, "--observe", observe, option, value, "-f", "-o",
                       trace, "--", python, "-m", "torch.distributed.run", "--standalone",
                       "--nproc-per-node", count, words[0], words[1], words[2], words[3], words[4],
                       NULL);
}

static struct program run_alone(char *const *words, int world, int rank, const char *gpu,
                                const char *trace)
{
    char worlds[16];
    char ranks[16];

    snprintf(worlds, sizeof(worlds), "%d", world);
    snprintf(ranks, sizeof(ranks), "%d", rank);
    return program_run("record", "--gpu", gpu, "--world", worlds, "--rank", ranks, "-f", "-o",
                       trace, "--", corpus_python(NULL), words[0], words[1], words[2], words[3],
                       words[4], NULL);
}

/* The words of a command, in `text`, which has CORPUS_COMMAND_MAX bytes. */
static void words_split(const char *command, char *text, char **words)
{
    char *rest;
    int count = 1;

    snprintf(text, CORPUS_COMMAND_MAX, "tests/programs/%.*s.py %s", (int)strcspn(command, " "),
             command, command + strcspn(command, " "));
    rest = text;
    for (words[0] = strsep(&rest, " "); rest;) {
        char *word = strsep(&rest, " ");

        if (!*word)
            continue;
        if (count == WORDS_MAX - 1)
            fail_msg("%s: more arguments than are passed on", command);
        words[count++] = word;
    }
}

static void end_check(const char *command, const struct program *p, int status)
{
    if (p->status != status)
        fail_msg("%s: status %d: %s%s", command, p->status, p->out, p->err);
    if (!strstr(p->err, "PyTorch allocates as on that GPU"))
        fail_msg("%s: no line says that a GPU is simulated: %s", command, p->err);
}

static struct program record_as(const struct corpus_case *row, const char *gpu, const char *observe)
{
    char text[CORPUS_COMMAND_MAX];
    char *words[WORDS_MAX] = {NULL};
    struct program p;

    words_split(row->command, text, words);
    p = run(words, row->ranks, gpu, observe, row->option ? row->option : "--values",
            row->option ? row->value : "zeros");
    end_check(row->command, &p, row->status);
    return p;
}

struct program corpus_record(const char *command, int ranks, const char *gpu)
{
    return record_as(&(struct corpus_case){.command = command, .ranks = ranks}, gpu, "on");
}

struct program corpus_record_alone(const char *command, int world, int rank, const char *gpu)
{
    char text[CORPUS_COMMAND_MAX];
    char *words[WORDS_MAX] = {NULL};
    struct program p;

    words_split(command, text, words);
    p = run_alone(words, world, rank, gpu, program_path("alone.db"));
    end_check(command, &p, 0);
    return p;
}

char *corpus_report(const char *trace)
{
    struct program p = program_run("report", "--json", trace, NULL);
    char *json = p.out;

    if (p.status != 0)
        fail_msg("report: %s", p.err);
    free(p.err);
    return json;
}

void corpus_peaks_check(const struct program *p, const char *trace, int rank)
{
    static const char *const PATHS[] = {"$.peak.allocated", "$.peak.requested", "$.peak.reserved"};
    const char *line = p->out;
    int64_t figures[3];
    int of = -1;
    char *json = corpus_report(trace);

    while (of != rank && (line = strstr(line, "FIGURES ")) != NULL) {
        if (sscanf(line, "FIGURES %" SCNd64 " %" SCNd64 " %" SCNd64 " %d", &figures[0], &figures[1],
                   &figures[2], &of) != 4)
            of = -1;
        line++;
    }
    if (of != rank)
        fail_msg("no figures of rank %d: %s%s", rank, p->out, p->err);
    for (int i = 0; i < 3; i++)
        if (json_int(json, PATHS[i]) != figures[i])
            fail_msg("rank %d: %s is %" PRId64 " in the trace, and PyTorch says %" PRId64, rank,
                     PATHS[i], json_int(json, PATHS[i]), figures[i]);
    free(json);
}

/* ---- two recordings ---- */

/*
 * Each event of the allocator as a text, in order. Frees that follow one another are sorted: at the end of autocast its
 * copies are freed in the order of a hash table of the host's addresses, which are others in each process.
 */
#define EVENTS                                                                                     \
    "select text from (select kind || ' ' || ifnull(size, '') || ' ' || ifnull(stream, '') || "    \
    "' ' || ifnull(address, '') as text, kind like 'free%' as is_free, sum(kind not like "         \
    "'free%') over (order by seq) as run from event where kind like 'free%' or kind like "         \
    "'segment%' or kind in ('alloc', 'oom')) order by run, is_free, text"

static sqlite3 *trace_open(const char *path)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sto_cell_register(db), SQLITE_OK);
    return db;
}

static sqlite3_stmt *statement(sqlite3 *db, const char *path, const char *sql)
{
    sqlite3_stmt *stmt = NULL;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", path, sqlite3_errmsg(db));
    return stmt;
}

/* The rows of the trace `path`; the table `workspace` has the blocks that the trace `program` calls that. */
static sqlite3_stmt *rows_open(const char *path, const char *program, const char *sql)
{
    sqlite3 *of_program = trace_open(program);
    sqlite3 *db = trace_open(path);
    sqlite3_stmt *from =
        statement(of_program, program, "select id from block where category = 'workspace'");
    sqlite3_stmt *to;

    assert_int_equal(sqlite3_exec(db, "create temp table workspace (id integer)", NULL, NULL, NULL),
                     SQLITE_OK);
    to = statement(db, path, "insert into workspace values (?)");
    while (sqlite3_step(from) == SQLITE_ROW) {
        sqlite3_bind_int64(to, 1, sqlite3_column_int64(from, 0));
        assert_int_equal(sqlite3_step(to), SQLITE_DONE);
        sqlite3_reset(to);
    }
    sqlite3_finalize(to);
    sqlite3_finalize(from);
    sqlite3_close(of_program);
    return statement(db, path, sql);
}

static void rows_close(sqlite3_stmt *stmt)
{
    sqlite3 *db = sqlite3_db_handle(stmt);

    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

/* How the rows of a query differ, heap memory; NULL: they are equal, *count of them. */
static char *rows_difference(const char *sql, const char *first, const char *second, int *count)
{
    sqlite3_stmt *a = rows_open(first, first, sql);
    sqlite3_stmt *b = rows_open(second, first, sql);
    struct vs_text text = {NULL, 0, 0};
    bool more_a;
    bool more_b;

    *count = 0;
    do {
        const char *x;
        const char *y;

        more_a = sqlite3_step(a) == SQLITE_ROW;
        more_b = sqlite3_step(b) == SQLITE_ROW;
        x = more_a ? (const char *)sqlite3_column_text(a, 0) : "no more";
        y = more_b ? (const char *)sqlite3_column_text(b, 0) : "no more";
        if (!x || !y || strcmp(x, y) != 0)
            vs_text_addf(&text, "row %d is `%s`, and in the second recording `%s`", *count, x, y);
        *count += more_a;
    } while (more_a && more_b && !text.len);
    rows_close(a);
    rows_close(b);
    return text.len ? vs_text_take(&text) : NULL;
}

char *corpus_events_difference(const char *first, const char *second)
{
    int count;
    char *text = rows_difference(EVENTS, first, second, &count);

    return text || count > 0 ? text : vs_strdup("neither recording has events");
}

int corpus_rows_compare(const char *command, const char *sql, const char *first, const char *second)
{
    int count;
    char *text = rows_difference(sql, first, second, &count);

    if (text)
        fail_msg("%s: %s: %s", command, text, sql);
    return count;
}

void corpus_events_compare(const char *command, const char *first, const char *second)
{
    assert_true(corpus_rows_compare(command, EVENTS, first, second) > 0);
}

static const char *trace_of(int rank, const char *stem)
{
    char name[64];

    if (rank)
        snprintf(name, sizeof(name), "%s.rank%d.db", stem, rank);
    else
        snprintf(name, sizeof(name), "%s.db", stem);
    return program_path(name);
}

/* What the report says of the observer: it knows every allocation, or in part, and made none. */
static void observed_check(const char *command, const char *trace, bool is_partly)
{
    char *json = corpus_report(trace);
    const int64_t known = json_int(json, "$.observed.allocations");

    if ((known != json_int(json, "$.observed.of") && !is_partly) || known == 0 ||
        json_int(json, "$.observed.own") != 0)
        fail_msg("%s: observed are %" PRId64 " of %" PRId64 " allocations, %" PRId64
                 " events are the observer's",
                 command, json_int(json, "$.observed.allocations"), json_int(json, "$.observed.of"),
                 json_int(json, "$.observed.own"));
    free(json);
}

void corpus_check_case(const struct corpus_case *row)
{
    const int traces = row->traces ? row->traces : row->ranks ? row->ranks : 1;
    struct program p;

    corpus_python(row->modules);
    p = record_as(row, CORPUS_GPU, "off");
    program_release(&p);
    for (int i = 0; i < traces; i++)
        assert_int_equal(rename(trace_of(i, "trace"), trace_of(i, "first")), 0);
    p = record_as(row, CORPUS_GPU, "on");
    for (int i = 0; i < traces; i++) {
        if (!row->has_no_figures)
            corpus_peaks_check(&p, trace_of(i, "trace"), i);
        observed_check(row->command, trace_of(i, "trace"), row->is_partly);
        corpus_events_compare(row->command, trace_of(i, "first"), trace_of(i, "trace"));
    }
    program_release(&p);
}

void corpus_check(const char *command, int ranks)
{
    corpus_check_case(&(struct corpus_case){.command = command, .ranks = ranks});
}

/* ---- a net file of the same model ---- */

#define NODES                                                                                      \
    "with n as (select node, max(op) as name from event where kind = 'op_begin' and role = "       \
    "'backward' and node > 0 group by node) "
/*
 * Of each block and phase: what saved it and released it, and how often. A node inside of another one (of an op in
 * place on a view) has the name of that in a program, and none in a net. What a checkpoint runs again is saved in
 * backward; in a net the nodes of the second run save it, too, so how often is not compared there.
 */
#define SAVES                                                                                      \
    NODES ", again as (select block from event where kind = 'save' and phase = 'backward'), s as " \
          "(select e.block, e.kind, e.role, e.step, e.phase, iif(e.block in (select block from "   \
          "again), '', ifnull(n.name, 'CopySlices')) as name from event e left join n on n.node "  \
          "= e.node where e.kind in ('save', 'unsave')) select block || ' ' || kind || ' ' || "    \
          "role || ' step ' || step || ' ' || phase || ' ' || name || iif(name = '', '', "         \
          "count(*)) from s group by block, kind, role, step, phase, name order by 1"
/*
 * Of each block, its categories one after the other, but for three things. A program's parameters, buffers and states
 * of the optimizer are that from their allocation, a net's from when they get their name. What autograd has released is
 * an activation in a program if it stays, in a net if another tensor shares its memory: so these are left out. And of
 * blocks below 1 MiB those are left out that a program calls workspace, which no op reads, and those of the set-up that
 * are no parameters. Of larger ones a workspace of the program counts as temporary: what a kernel needs beside its
 * arguments is a tensor of the op in a net, and a program's trace cannot tell it from what a library needs.
 */
#define CATEGORIES                                                                                 \
    "with e as (select seq, kind, block, step, max(ifnull(size, 0)) over (partition by block) as " \
    "size, iif(category = 'workspace', 'temporary', "                                              \
    "category) as category, last_value(category) over (partition by block order by seq rows "      \
    "between unbounded preceding and unbounded following) as last from event where kind in "       \
    "('alloc', 'category')), k as (select seq, block, size, category from e where not (kind = "    \
    "'category' and category = 'activation') and not (category in ('other', 'temporary') and "     \
    "last in ('parameter', 'buffer', 'optimizer')) and not (size < 1 << 20 and (step < 0 and "     \
    "last <> 'parameter' or block in (select id from workspace)))) "                               \
    "select block || ' ' || size || ' ' || group_concat(category, ' ') from (select *, "           \
    "lag(category) over (partition by block order by seq) as before from k) where category is "    \
    "not before group by block order by block"
#define CASTS                                                                                      \
    "select block || ' of ' || from_block || ' ' || from_dtype || ' ' || to_dtype || ' step ' || " \
    "step || ' ' || phase from event where kind = 'cast' order by block"
/* Autocast's cache, and gradients. */
#define HOLDERS                                                                                    \
    "select block || ' ' || kind || ' ' || holder || ' ' || ifnull(name, '') || ' step ' || step " \
    "|| ' ' || phase from event where kind in ('hold', 'drop') and holder in ('cache', 'grad') "   \
    "order by 1"

#define ARITHMETIC                                                                                 \
    "select step || ' ' || phase || ' ' || role || ' ' || sum(flops) from event where kind = "     \
    "'op_end' and flops > 0 group by step, phase, role order by step, phase, role"

/* What the trace of the program says is what that of its net file says. */
static void events_and_figures_compare(const char *name)
{
    static const char *const SQL[] = {SAVES, CATEGORIES, CASTS, HOLDERS, ARITHMETIC};
    static const char *const FIGURES[] = {
        "$.saved.tensors",
        "$.saved.bytes",
        "$.saved.bytes_all",
        "$.recomputed_ops",
        "$.total_flops",
        "$.recompute_flops",
        "$.casts",
        "$.kept.tensors",
        "$.kept.gain",
        "$.peak.by_category.parameter",
        "$.peak.by_category.buffer",
        "$.peak.by_category.gradient",
        "$.peak.by_category.optimizer",
        "$.peak.by_category.input",
        "$.peak.by_category.checkpoint",
        "$.peak.by_category.cast",
    };
    char *of_trace;
    char *of_net;

    for (size_t i = 0; i < sizeof(SQL) / sizeof(SQL[0]); i++)
        corpus_rows_compare(name, SQL[i], program_path("trace.db"), program_path("net.db"));
    of_trace = corpus_report(program_path("trace.db"));
    of_net = corpus_report(program_path("net.db"));
    for (size_t i = 0; i < sizeof(FIGURES) / sizeof(FIGURES[0]); i++) {
        char *a = json_text(of_trace, FIGURES[i]);
        char *b = json_text(of_net, FIGURES[i]);

        if (!a || !b || strcmp(a, b) != 0)
            fail_msg("%s: %s is %s, and of the net %s", name, FIGURES[i], a, b);
        free(a);
        free(b);
    }
    free(of_trace);
    free(of_net);
}

static void snapshot_export(const char *name)
{
    struct program p = program_run("export", program_path("trace.db"), "--format", "snapshot", "-f",
                                   "-o", program_path("snapshot"), NULL);

    if (p.status != 0)
        fail_msg("%s: export: %s", name, p.err);
    program_release(&p);
}

void corpus_net_check(const char *name, const char *amp, const char *blocks, const char *impl)
{
    char command[CORPUS_COMMAND_MAX];
    struct program p;

    snprintf(command, sizeof(command), "as_net %s %s %s%s%s", name, program_path("net.py"),
             amp ? amp : "off", blocks ? " checkpoint" : "",
             blocks && strcmp(impl, "reentrant") == 0 ? " reentrant" : "");
    corpus_check(command, 0);
    snapshot_export(name);
    p = program_run("match", program_path("net.py"), program_path("snapshot"), "--target",
                    CORPUS_GPU, "--optimizer", "adamw", "--amp", amp ? amp : "off", "--checkpoint",
                    blocks ? blocks : "off", "--checkpoint-impl", impl ? impl : "non-reentrant",
                    "--any-free-order", NULL);
    if (p.status != 0)
        fail_msg("%s: the net file and the program differ: %s%s", name, p.out, p.err);
    program_release(&p);
    p = program_run("record", program_path("net.py"), "-f", "-o", program_path("net.db"),
                    "--device", "meta", "--target", CORPUS_GPU, "--optimizer", "adamw", "--amp",
                    amp ? amp : "off", "--checkpoint", blocks ? blocks : "off", "--checkpoint-impl",
                    impl ? impl : "non-reentrant", NULL);
    if (p.status != 0)
        fail_msg("%s: record: %s", name, p.err);
    program_release(&p);
    events_and_figures_compare(name);
}

void corpus_sample_check(const char *net)
{
    char command[CORPUS_COMMAND_MAX];
    struct program p;

    snprintf(command, sizeof(command), "observed/sample %s %s", net, SAMPLE_STEPS);
    corpus_check(command, 0);
    snapshot_export(net);
    p = program_run("match", net, program_path("snapshot"), "--target", CORPUS_GPU, "--steps",
                    SAMPLE_STEPS, "--any-free-order", NULL);
    if (p.status != 0)
        fail_msg("%s: the net file and the program differ: %s%s", net, p.out, p.err);
    program_release(&p);
    p = program_run("record", net, "-f", "-o", program_path("net.db"), "--device", "meta",
                    "--target", CORPUS_GPU, "--steps", SAMPLE_STEPS, NULL);
    if (p.status != 0)
        fail_msg("%s: record: %s", net, p.err);
    program_release(&p);
    events_and_figures_compare(net);
}
