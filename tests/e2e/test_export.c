/*
 * tests/e2e/test_export.c - `vramscope export`: exported snapshots import with the same figures, tables equal SQL
 * queries, and wrong arguments are refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/event.h"
#include "base/mem.h"
#include "base/text.h"
#include "import/importing.h"
#include "import/writing.h"
#include "recording/memlist.h"
#include "tests/e2e/program.h"
#include "tests/engine/alloc_lists.h"

#define LENET "sample_nets/lenet.py"
#define ATTENTION "tests/golden/snapshots/attention_3g.pickle.gz"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static void check(struct program p, int status, const char *out, const char *err)
{
    if (p.status != status || !strstr(p.out, out) || !strstr(p.err, err))
        fail_msg("status %d (not %d), says:\n%.2000s\n%s\nbut should: %s%s", p.status, status,
                 p.out, p.err, out, err);
    program_release(&p);
}

/* What the program prints; it must succeed. Heap memory. */
static char *printed(struct program p)
{
    char *out = p.out;

    if (p.status)
        fail_msg("status %d: %s", p.status, p.err);
    p.out = NULL;
    program_release(&p);
    return out;
}

static void printed_free(struct program p)
{
    free(printed(p));
}

static void assert_same_text(const char *what, const char *a, const char *b)
{
    size_t i = 0;

    while (a[i] && a[i] == b[i])
        i++;
    while (i && a[i - 1] != '\n')
        i--;
    if (a[i] || b[i])
        fail_msg("%s differ:\n%.300s\n%.300s", what, a + i, b + i);
}

static char *sql_rows(const char *trace, const char *sql)
{
    return printed(program_run("sql", trace, sql, NULL));
}

static void assert_same_rows(const char *what, const char *a, const char *b, const char *sql)
{
    char *x = sql_rows(a, sql);
    char *y = sql_rows(b, sql);

    assert_same_text(what, x, y);
    free(x);
    free(y);
}

/* ---- snapshots ---- */

#define FROM_ALLOCATOR                                                                             \
    "FROM event WHERE kind IN ('alloc', 'free', 'segment_alloc', 'segment_free', 'segment_map', "  \
    "'segment_unmap', 'oom', 'free_completed') ORDER BY seq"

/* Everything the allocator did, and when: a snapshot counts microseconds, from its first event on. */
static const char ALLOCATOR[] =
    "SELECT kind, block, CASE kind WHEN 'oom' THEN NULL ELSE size END, block_size, address, pool, "
    "stream, "
    "device_free, time_ns / 1000 - (SELECT min(time_ns) / 1000 FROM event WHERE kind IN ('alloc', "
    "'segment_alloc', 'segment_map')) " FROM_ALLOCATOR;

/* Where it was done, modules included; ops of backward nodes are distinguished from others. */
static const char LOCATIONS[] =
    "SELECT kind, substr(func, ifnull(instr(func, ':'), 0) + 1), line, rtrim(op, '/'), module, "
    "CASE category WHEN 'workspace' THEN category END " FROM_ALLOCATOR;

static void same_figure(const char *a, const char *b, const char *path)
{
    if (json_int(a, path) != json_int(b, path))
        fail_msg("%s is %" PRId64 ", but %" PRId64 " after export and import", path,
                 json_int(a, path), json_int(b, path));
}

static void assert_same_peak(const char *trace, const char *again)
{
    char *a = printed(program_run("report", trace, "--json", NULL));
    char *b = printed(program_run("report", again, "--json", NULL));

    same_figure(a, b, "$.peak.allocated");
    same_figure(a, b, "$.peak.requested_at_event");
    same_figure(a, b, "$.peak.reserved_at_event");
    for (int i = 0; i < VS_CATEGORY_COUNT; i++) {
        char path[64];

        snprintf(path, sizeof(path), "$.peak.by_category.%s",
                 vs_category_name((enum vs_category)i));
        same_figure(a, b, path);
    }
    free(a);
    free(b);
}

/* Also the properties of the device. */
static void assert_same_figures(const char *trace, const char *again)
{
    static const char *const PATHS[] = {
        "$.devices[0].device",        "$.devices[0].segments",       "$.devices[0].reserved",
        "$.devices[0].allocated",     "$.devices[0].peak_allocated", "$.devices[0].peak_requested",
        "$.devices[0].peak_reserved",
    };
    char *a = printed(program_run("report", trace, "--json", NULL));
    char *b = printed(program_run("report", again, "--json", NULL));

    for (size_t i = 0; i < sizeof(PATHS) / sizeof(PATHS[0]); i++)
        same_figure(a, b, PATHS[i]);
    free(a);
    free(b);
    assert_same_peak(trace, again);
}

/* `trace` as a snapshot (`name` says whether it is packed), and that imported. */
static const char *through_snapshot(const char *trace, const char *name)
{
    const char *snapshot = program_path(name);
    const char *again = program_path("again.db");

    check(program_run("export", trace, "--format", "snapshot", "-o", snapshot, "--force", NULL), 0,
          "", "");
    check(program_run("import", snapshot, "-o", again, "--force", NULL), 0, "recorded events", "");
    return again;
}

static void assert_survives(const char *trace, const char *name)
{
    const char *again = through_snapshot(trace, name);

    assert_same_rows("the allocator's events", trace, again, ALLOCATOR);
    assert_same_rows("places", trace, again, LOCATIONS);
    assert_same_figures(trace, again);
}

/* A way to record that the allocator's events look different in. */
static const struct recording {
    const char *net;
    const char *toggle;
    const char *value;
    const char *toggle2;
    const char *value2;
} RECORDINGS[] = {
    {LENET, "--steps", "2", NULL, NULL},
    {LENET, "--empty-cache", "phase", NULL, NULL},
    {"sample_nets/resnet18.py", "--target", "a100-80", NULL, NULL},
    {"sample_nets/resnet18.py", "--alloc-conf", "expandable_segments:True", NULL, NULL},
    {"sample_nets/vit_tiny.py", "--amp", "fp16", NULL, NULL},
    {"sample_nets/vit_tiny.py", "--alloc-conf", "max_split_size_mb:40", "--empty-cache", "phase"},
    {"sample_nets/vit_tiny.py", "--alloc-conf", "roundup_power2_divisions:4", NULL, NULL},
    {"sample_nets/mlp_swish.py", "--optimizer", "adamw", NULL, NULL},
    {"sample_nets/densenet_bc100.py", "--checkpoint", "blocks", NULL, NULL},
};

static void an_exported_snapshot_imports_with_the_same_events_and_figures(void **state)
{
    const struct recording *r = *state;
    const char *trace = program_path("recorded.db");

    printed_free(program_run("record", r->net, "-o", trace, "--device", "meta", "--force",
                             r->toggle, r->value, r->toggle2, r->value2, NULL));
    assert_survives(trace, "recorded.pickle");
}

static void a_run_that_ended_out_of_memory_survives_export_and_import(void **state)
{
    const char *trace = program_path("oom.db");

    (void)state;
    check(program_run("record", "sample_nets/vit_tiny.py", "-o", trace, "--device", "meta",
                      "--capacity", "100M", NULL),
          1, "", "");
    assert_survives(trace, "oom.pickle.gz");
    /* PyTorch's history has the rounded request */
    assert_int_equal(sql_int(program_path("again.db"), "SELECT size % 512 FROM event "
                                                       "WHERE kind = 'oom'"),
                     0);
}

/* What was there before the recording began is found again from the events and the state at the end. */
static void an_imported_trace_survives_a_second_export(void **state)
{
    const char *trace = program_path("imported.db");

    check(program_run("import", *state, "-o", trace, "--force", NULL), 0, "recorded events", "");
    assert_survives(trace, "imported.pickle");
}

#define DEVICES 3

static void must(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

/* What a published recording has of three devices, as one trace. */
static void devices_import(const char *to)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_memlist lists[DEVICES] = {{.events = NULL}};
    struct imp_import imports[DEVICES] = {{.events = NULL}};
    struct sto_writer *writer = NULL;

    for (size_t i = 0; i < DEVICES; i++) {
        char path[256];

        snprintf(path, sizeof(path), "%s/expandable_3gpu_oom.%zu.txt", ALLOC_LISTS_DIR, i);
        must(rec_memlist_read_whole(path, REC_SNAPSHOT_FIRST, &lists[i], &err), &err);
        lists[i].device = i;
        must(imp_make(&lists[i], &imports[i], &err), &err);
    }
    must(sto_writer_open(to, &(struct sto_writer_options){.force = true}, &writer, &err), &err);
    must(imp_write(imports, lists, DEVICES, "three devices", writer, &err), &err);
    must(sto_writer_close(writer, true, &err), &err);
    for (size_t i = 0; i < DEVICES; i++) {
        imp_release(&imports[i]);
        vs_memlist_release(&lists[i]);
    }
}

/* A snapshot holds them all, unless a single one is requested. */
static void a_trace_of_several_devices_is_one_snapshot(void **state)
{
    /* paths are handed out a few at a time */
    char *trace = strdup(program_path("three.db"));
    char *again;

    (void)state;
    devices_import(trace);
    again = strdup(through_snapshot(trace, "three.pickle"));
    assert_same_rows("the allocator's events", trace, again, ALLOCATOR);
    for (int device = 0; device < DEVICES; device++) {
        const char *alone = program_path("alone.pickle");
        char one[512];
        char other[512];

        snprintf(one, sizeof(one), "%s@%d", trace, device);
        snprintf(other, sizeof(other), "%s@%d", again, device);
        assert_same_figures(one, other);
        printed_free(
            program_run("export", one, "--format", "snapshot", "-o", alone, "--force", NULL));
        snprintf(other, sizeof(other), "device %d, ", device);
        check(program_run("import", alone, "-o", program_path("alone.db"), "--force", NULL), 0,
              other, "");
        assert_same_peak(one, program_path("alone.db"));
    }
    free(again);
    free(trace);
}

/* ---- tables ---- */

static const char *const EVENT_COLUMNS[] = {
    "seq",       "time_ns",     "device",   "step",       "kind",       "phase",    "module",
    "func",      "line",        "op",       "block",      "tensor",     "size",     "block_size",
    "stream",    "address",     "category", "pool",       "node",       "flops",    "role",
    "name",      "scope",       "holder",   "from_block", "from_dtype", "to_dtype", "scale",
    "old_scale", "device_free", NULL};

static const char *const BLOCK_COLUMNS[] = {
    "b.id",
    "alloc_seq",
    "free_seq",
    "size",
    "block_size",
    "address",
    "category",
    "tensor",
    "step",
    "phase",
    "module",
    "func",
    "line",
    "op",
    "(SELECT max(seq) FROM event u WHERE u.kind = 'use' AND u.block = b.id)",
    "(SELECT max(name) FROM tensor n WHERE n.block = b.id)",
    "t.dtype",
    "t.sizes",
    NULL};

/* Rows as the CSV has them: a value is empty for NULL, quoted where it has to be. */
static char *csv_by_sql(const char *trace, const char *const *columns, const char *from)
{
    struct vs_text sql = {NULL, 0, 0};
    char *rows;

    for (size_t i = 0; columns[i]; i++) {
        vs_text_addf(&sql, "%s(SELECT CASE WHEN v IS NULL THEN '' WHEN typeof(v) = 'text' AND ",
                     i ? " || ',' || " : "SELECT ");
        vs_text_addf(&sql,
                     "(v = '' OR instr(v, ',') OR instr(v, '\"')) THEN '\"' || replace(v, '\"', "
                     "'\"\"') || '\"' ELSE v END FROM (SELECT %s AS v))",
                     columns[i]);
    }
    vs_text_addf(&sql, " AS row %s", from);
    rows = sql_rows(trace, vs_text_get(&sql));
    vs_text_release(&sql);
    return rows;
}

static void assert_table(const char *trace, const char *table, const char *const *columns,
                         const char *from)
{
    char *expected = csv_by_sql(trace, columns, from);
    char *csv = printed(program_run("export", trace, "--format", "csv", "--table", table, NULL));

    /* each begins with a line of names */
    assert_same_text(table, strchr(csv, '\n'), strchr(expected, '\n'));
    free(expected);
    free(csv);
}

static void assert_tables(const char *trace)
{
    assert_table(trace, "events", EVENT_COLUMNS, "FROM event ORDER BY seq");
    assert_table(trace, "blocks", BLOCK_COLUMNS,
                 "FROM block b LEFT JOIN tensor t ON t.id = b.tensor ORDER BY alloc_seq");
}

static void exported_tables_equal_sql_queries(void **state)
{
    const char *trace = program_path("table.db");

    (void)state;
    check(program_run("record", "sample_nets/mlp_swish.py", "-o", trace, "--device", "meta",
                      "--amp", "fp16", "--checkpoint", "blocks", "--steps", "2", NULL),
          0, "", "");
    assert_tables(trace);
    sql_run(trace, "UPDATE string SET text = text || ', \"it\"' WHERE id % 3 = 0");
    assert_tables(trace);
}

static size_t line_count(const char *text)
{
    size_t count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static void json_lines_have_the_same_rows_as_csv(void **state)
{
    const char *trace = program_record(LENET, "lines.db", NULL, NULL);
    char *lines = printed(program_run("export", trace, "--format", "json", NULL));
    char *blocks =
        printed(program_run("export", trace, "--format", "json", "--table", "blocks", NULL));
    char *found = strstr(lines, "{\"seq\": 425,");
    char *end = found ? strchr(found, '\n') : NULL;

    (void)state;
    assert_int_equal(line_count(lines), sql_int(trace, "SELECT max(seq) FROM event"));
    assert_int_equal(line_count(blocks), sql_int(trace, "SELECT count(*) FROM block"));
    assert_non_null(end);
    *end = '\0';
    assert_int_equal(json_int(found, "$.size"),
                     sql_int(trace, "SELECT size FROM event WHERE seq = 425"));
    json_expect(found, "$.module", "text");
    json_expect(blocks + (strrchr(blocks, '{') - blocks), "$.shape", "array");
    free(lines);
    free(blocks);
}

/* ---- what can go wrong ---- */

/* Nothing in the folder of the test begins with `name`. */
static void assert_nothing_called(const char *name)
{
    char command[512];

    snprintf(command, sizeof(command), "ls -a '%s' | grep -q '^%s'", program_folder(), name);
    if (system(command) == 0)
        fail_msg("something called %s… was left behind", name);
}

static void wrong_arguments_are_named(void **state)
{
    const char *trace = program_record(LENET, "wrong.db", NULL, NULL);

    (void)state;
    check(program_run("export", trace, NULL), 2, "", "--format is missing");
    check(program_run("export", trace, "--format", "snapshit", NULL), 2, "",
          "did you mean `snapshot`?");
    check(program_run("export", trace, "--format", "pdf", NULL), 2, "", "there is no format `pdf`");
    check(program_run("export", trace, "--format", "csv", "--table", "rows", NULL), 2, "",
          "--table cannot be `rows`");
    check(program_run("export", trace, "--format", "snapshot", "--table", "blocks", NULL), 2, "",
          "--table is not supported by the format snapshot");
    check(program_run("export", trace, "--format", "csv", "-o", "", NULL), 2, "",
          "--out needs the name of a file");
    check(program_run("export", program_path("none.db"), "--format", "csv", NULL), 1, "",
          "none.db: no such file");
    check(program_run("export", LENET, "--format", "csv", NULL), 1, "", "lenet.py: ");
}

static void an_existing_file_is_replaced_only_with_force(void **state)
{
    const char *trace = program_record(LENET, "kept.db", NULL, NULL);
    const char *out = program_file("kept.csv", "mine\n");

    (void)state;
    check(program_run("export", trace, "--format", "csv", "-o", out, NULL), 1, "",
          "kept.csv: it exists already; --force replaces it");
    assert_int_equal(line_count("mine\n"), 1);
    check(program_run("export", trace, "--format", "csv", "-o", out, "--force", NULL), 0, "", "");
    check(program_run("export", trace, "--format", "csv", "-o", program_folder(), NULL), 1, "",
          "it is a folder; name a file");
    check(program_run("export", trace, "--format", "csv", "-o", program_path("no/where.csv"), NULL),
          1, "", "where.csv: cannot be written: No such file or directory");
    assert_nothing_called("kept.csv.new");
}

static void a_full_disk_leaves_no_partial_file(void **state)
{
    static const struct program_world full = {.stdout_path = "/dev/full"};
    static const struct program_world small = {.file_bytes = 1024};
    char *trace = vs_strdup(program_record(LENET, "full.db", NULL, NULL));
    static const char *const formats[] = {"snapshot", "csv",       "json", "perfetto",
                                          "svg",      "collapsed", "html"};

    (void)state;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        check(program_run_in(&full, "export", trace, "--format", formats[i], NULL), 1, "",
              "standard output: cannot be written: No space left");
        check(program_run("export", trace, "--format", formats[i], "-o", "/dev/full", NULL), 1, "",
              "/dev/full: cannot be written: No space left");
        check(program_run_in(&small, "export", trace, "--format", formats[i], "-o",
                             program_path("fulldisk"), NULL),
              1, "", "fulldisk: cannot be written: File too large");
    }
    check(program_run_in(&small, "export", trace, "--format", "csv", "-o",
                         program_path("fulldisk.gz"), NULL),
          1, "", "fulldisk.gz: cannot be written: File too large");
    assert_nothing_called("fulldisk");
    vs_free(trace);
}

static void a_damaged_trace_leaves_no_partial_file(void **state)
{
    const char *trace = program_record(LENET, "cut.db", NULL, NULL);

    (void)state;
    sql_run(trace, "UPDATE event_chunk SET data = substr(data, 1, length(data) - 9)");
    check(program_run("export", trace, "--format", "snapshot", "-o", program_path("damaged"), NULL),
          1, "", "vramscope: ");
    assert_int_equal(truncate(trace, 40000), 0);
    check(program_run("export", trace, "--format", "csv", "-o", program_path("damaged"), NULL), 1,
          "", "cut.db");
    assert_nothing_called("damaged");
}

/* A test for each of some things. */
static size_t tests_add(struct CMUnitTest *tests, size_t at, CMUnitTestFunction test,
                        const char *name, const void *argument)
{
    tests[at] = (struct CMUnitTest){name, test, NULL, NULL, (void *)(uintptr_t)argument};
    return at + 1;
}

int main(void)
{
    static const char *const IMPORTED[] = {
        ATTENTION,
        "tests/golden/snapshots/lm4_forward_ctx100.pickle.gz",
        "tests/golden/snapshots/nca_custom_kernel_step.pickle.gz",
        "tests/golden/snapshots/three_segments_state_only.pickle.gz",
        "tests/golden/snapshots/empty_snapshot.pickle.gz",
    };
    const struct CMUnitTest single[] = {
        cmocka_unit_test(a_run_that_ended_out_of_memory_survives_export_and_import),
        cmocka_unit_test(a_trace_of_several_devices_is_one_snapshot),
        cmocka_unit_test(exported_tables_equal_sql_queries),
        cmocka_unit_test(json_lines_have_the_same_rows_as_csv),
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(an_existing_file_is_replaced_only_with_force),
        cmocka_unit_test(a_full_disk_leaves_no_partial_file),
        cmocka_unit_test(a_damaged_trace_leaves_no_partial_file),
    };
    struct CMUnitTest tests[40];
    size_t count = 0;

    for (size_t i = 0; i < sizeof(RECORDINGS) / sizeof(RECORDINGS[0]); i++)
        count =
            tests_add(tests, count, an_exported_snapshot_imports_with_the_same_events_and_figures,
                      RECORDINGS[i].net, &RECORDINGS[i]);
    for (size_t i = 0; i < sizeof(IMPORTED) / sizeof(IMPORTED[0]); i++)
        count = tests_add(tests, count, an_imported_trace_survives_a_second_export, IMPORTED[i],
                          IMPORTED[i]);
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
        tests[count++] = single[i];
    return _cmocka_run_group_tests("test_export", tests, count, NULL, cleanup);
}
