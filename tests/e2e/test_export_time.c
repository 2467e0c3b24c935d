/*
 * tests/e2e/test_export_time.c - exports for profilers: what the readers of their formats rely on, and that every
 * figure is the trace's.
 *
 * The Trace Event Format asks for times in order and slices that nest on each track; speedscope for the members of its
 * schema; flamegraph.pl for "frame;frame bytes". SQL on the trace says what the figures should be.
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

#include <sqlite3.h>

#include "base/event.h"
#include "tests/e2e/program.h"
#include "tests/wait.h"

#define LENET "sample_nets/lenet.py"
#define ATTENTION "tests/golden/snapshots/attention_3g.pickle.gz"

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
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

static char *exported(const char *trace, const char *format)
{
    return printed(program_run("export", trace, "--format", format, NULL));
}

static char *exported_at(const char *trace, const char *format, const char *at)
{
    return printed(program_run("export", trace, "--format", format, "--at", at, NULL));
}

/* A run that has everything: setup, steps, casts, re-runs, ops within nodes. */
static const char *rich_trace(void)
{
    const char *trace = program_path("rich.db");

    free(printed(program_run("record", "sample_nets/vit_tiny.py", "-o", trace, "--device", "meta",
                             "--steps", "2", "--amp", "fp16", "--checkpoint", "blocks", "--force",
                             NULL)));
    return trace;
}

static const char *oom_trace(void)
{
    const char *trace = program_path("oom.db");
    struct program p = program_run("record", "sample_nets/vit_tiny.py", "-o", trace, "--device",
                                   "meta", "--capacity", "100M", "--force", NULL);

    assert_int_equal(p.status, 1);
    program_release(&p);
    return trace;
}

static const char *imported_trace(void)
{
    const char *trace = program_path("imported.db");

    free(printed(program_run("import", ATTENTION, "-o", trace, "--force", NULL)));
    return trace;
}

/* How to come by a trace. */
struct trace_source {
    const char *(*make)(void);
};

/* ---- the Trace Event Format ---- */

/* The events as a table `e` of its own, in the order of the file. */
static sqlite3 *events_open(const char *json)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;

    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(
            db,
            "CREATE TABLE e AS SELECT key AS i, value->>'ph' AS ph, value->>'tid' AS tid, "
            "value->>'ts' AS ts, value->>'name' AS name, value->>'id' AS id, value->>'pid' AS pid, "
            "value->>'s' AS s, value->'args' AS args FROM json_each(?1, '$.traceEvents')",
            -1, &stmt, NULL),
        SQLITE_OK);
    sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC);
    if (sqlite3_step(stmt) != SQLITE_DONE)
        fail_msg("%s: %.200s", sqlite3_errmsg(db), json);
    sqlite3_finalize(stmt);
    return db;
}

static int64_t query_int(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int64_t value;

    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

static void assert_none(sqlite3 *db, const char *what, const char *condition)
{
    char sql[512];

    snprintf(sql, sizeof(sql), "SELECT count(*) FROM (%s)", condition);
    if (query_int(db, sql))
        fail_msg("%s: %" PRId64 " of them", what, query_int(db, sql));
}

static void assert_well_formed(sqlite3 *db)
{
    assert_none(db, "of no known type",
                "SELECT 1 FROM e WHERE ph NOT IN ('M', 'B', 'E', 'C', 'i', 's', 'f')");
    assert_none(db, "without process or time",
                "SELECT 1 FROM e WHERE pid IS NULL OR typeof(ts) NOT IN ('integer', 'real')");
    assert_none(db, "without a name", "SELECT 1 FROM e WHERE name IS NULL AND ph <> 'E'");
    assert_none(db, "earlier than the one before",
                "SELECT 1 FROM (SELECT ts, lag(ts) OVER (ORDER BY i) AS before FROM e WHERE ph <> "
                "'M') WHERE ts < before");
    assert_none(db, "ends of nothing",
                "SELECT 1 FROM (SELECT sum(CASE ph WHEN 'B' THEN 1 ELSE -1 END) OVER (PARTITION BY "
                "tid ORDER BY i) AS depth FROM e WHERE ph IN ('B', 'E')) WHERE depth < 0");
    assert_none(db, "slices without an end",
                "SELECT tid FROM e WHERE ph IN ('B', 'E') GROUP BY tid HAVING sum(CASE ph WHEN 'B' "
                "THEN 1 ELSE -1 END) <> 0");
    assert_none(db, "arrows from nowhere",
                "SELECT 1 FROM e AS f WHERE ph = 'f' AND NOT EXISTS (SELECT 1 FROM e AS s WHERE "
                "s.ph = 's' AND s.id = f.id AND s.i < f.i)");
    assert_none(db, "arrows to nowhere",
                "SELECT 1 FROM e AS s WHERE ph = 's' AND NOT EXISTS (SELECT 1 FROM e AS f WHERE "
                "f.ph = 'f' AND f.id = s.id AND f.i > s.i)");
}

/* The totals in the order in which they were reached, of the trace. */
static const char TOTALS[] =
    "SELECT sum(CASE kind WHEN 'alloc' THEN block_size ELSE -block_size END) OVER (ORDER BY seq) "
    "AS total FROM event WHERE kind IN ('alloc', 'free') AND block_size > 0 ORDER BY seq";

/* Every total of the trace comes as a counter, and the categories add up to it each time. */
static void assert_counters(sqlite3 *db, const char *trace)
{
    char *totals = printed(program_run("sql", trace, TOTALS, NULL));
    const char *next = strchr(totals, '\n') + 1;
    int64_t by_category[VS_CATEGORY_COUNT] = {0};
    sqlite3_stmt *stmt = NULL;

    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT name, args->>'bytes' FROM e WHERE ph = 'C' AND "
                                        "name NOT IN ('requested', 'reserved') ORDER BY i",
                                        -1, &stmt, NULL),
                     SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        int64_t bytes = sqlite3_column_int64(stmt, 1);
        int64_t sum = 0;

        for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
            if (strncmp(name, "category: ", 10) == 0 &&
                strcmp(name + 10, vs_category_name((enum vs_category)i)) == 0)
                by_category[i] = bytes;
            sum += by_category[i];
        }
        if (strcmp(name, "allocated") != 0)
            continue;
        assert_int_equal(bytes, strtoll(next, NULL, 10));
        assert_int_equal(bytes, sum);
        next = strchr(next, '\n') + 1;
    }
    assert_string_equal(next, "");
    sqlite3_finalize(stmt);
    free(totals);
}

static void assert_peak(sqlite3 *db, const char *trace)
{
    char *report = printed(program_run("report", trace, "--json", NULL));

    assert_int_equal(query_int(db, "SELECT count(*) FROM e WHERE ph = 'i' AND name LIKE 'peak %'"),
                     1);
    assert_int_equal(query_int(db, "SELECT args->>'allocated' FROM e WHERE name LIKE 'peak %'"),
                     json_int(report, "$.peak.allocated"));
    assert_int_equal(query_int(db, "SELECT args->>'event' FROM e WHERE name LIKE 'peak %'"),
                     json_int(report, "$.peak.event"));
    free(report);
}

static void a_profile_over_time_is_well_formed_and_exact(void **state)
{
    const struct trace_source *source = *state;
    const char *trace = source->make();
    char *json = exported(trace, "perfetto");
    sqlite3 *db = events_open(json);

    assert_well_formed(db);
    assert_counters(db, trace);
    assert_peak(db, trace);
    if (query_int(db, "SELECT count(*) FROM e WHERE ph = 's'") == 0)
        fail_msg("no arrow leads to the peak");
    sqlite3_close(db);
    free(json);
}

static void every_op_step_and_phase_is_a_slice(void **state)
{
    const char *trace = rich_trace();
    char *json = exported(trace, "perfetto");
    sqlite3 *db = events_open(json);

    (void)state;
    assert_int_equal(query_int(db, "SELECT count(*) FROM e WHERE ph = 'B' AND tid = 3"),
                     sql_int(trace, "SELECT count(*) FROM event WHERE kind IN ('op_begin', "
                                    "'recompute_begin')"));
    assert_int_equal(query_int(db, "SELECT count(*) FROM e WHERE ph = 'B' AND tid = 1"),
                     sql_int(trace, "SELECT count(*) FROM event WHERE kind IN ('step', 'phase')"));
    assert_int_equal(query_int(db, "SELECT sum(args->>'flops') FROM e"),
                     sql_int(trace, "SELECT sum(flops) FROM event WHERE kind = 'op_begin'"));
    /* what the slices of steps say they changed is all there is at the end */
    assert_int_equal(
        query_int(
            db, "SELECT sum(args->>'allocated_change') FROM (SELECT *, sum(CASE ph WHEN 'B' THEN 1 "
                "ELSE -1 END) OVER (ORDER BY i) AS depth FROM e WHERE tid = 1 AND ph IN ('B', "
                "'E')) WHERE ph = 'E' AND depth = 0"),
        sql_int(trace, "SELECT sum(block_size) FROM block WHERE free_seq IS NULL"));
    if (query_int(db, "SELECT count(DISTINCT args->>'module') FROM e WHERE tid = 2") < 20)
        fail_msg("too few modules");
    sqlite3_close(db);
    free(json);
}

static void running_out_of_memory_is_marked(void **state)
{
    const char *trace = oom_trace();
    char *json = exported(trace, "perfetto");
    sqlite3 *db = events_open(json);

    (void)state;
    assert_well_formed(db);
    assert_int_equal(query_int(db, "SELECT args->>'requested' FROM e WHERE name = 'out of memory'"),
                     sql_int(trace, "SELECT size FROM event WHERE kind = 'oom'"));
    assert_int_equal(query_int(db, "SELECT args->>'event' FROM e WHERE name = 'out of memory'"),
                     sql_int(trace, "SELECT seq FROM event WHERE kind = 'oom'"));
    sqlite3_close(db);
    free(json);
}

static void an_output_named_gz_is_compressed(void **state)
{
    const char *trace = imported_trace();
    const char *path = program_path("time.json.gz");
    char *json = exported(trace, "perfetto");
    char command[1024];
    FILE *pipe;
    size_t i = 0;
    int c;

    (void)state;
    free(printed(program_run("export", trace, "--format", "perfetto", "-o", path, NULL)));
    snprintf(command, sizeof(command), "gzip -dc '%s'", path);
    wait_begin(command);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    while ((c = getc(pipe)) != EOF && json[i] == (char)c)
        i++;
    assert_int_equal(c, EOF);
    assert_int_equal(i, strlen(json));
    assert_int_equal(pclose(pipe), 0);
    wait_end();
    free(json);
}

/* ---- stacks ---- */

/* The sum of the lines' numbers; each line must be "frame;frame;… bytes" without an empty frame. */
static int64_t folded_sum(const char *folded, const char *begin)
{
    int64_t sum = 0;

    while (*folded) {
        const char *end = strchr(folded, '\n');
        const char *blank = end;
        char *rest;

        assert_non_null(end);
        while (blank > folded && *blank != ' ')
            blank--;
        if (blank == folded || *folded == ';' || blank[-1] == ';')
            fail_msg("an empty frame: %.200s", folded);
        for (const char *p = folded; p + 1 < blank; p++)
            if (p[0] == ';' && p[1] == ';')
                fail_msg("an empty frame: %.200s", folded);
        if (!begin || strncmp(folded, begin, strlen(begin)) == 0)
            sum += strtoll(blank + 1, &rest, 10);
        else
            strtoll(blank + 1, &rest, 10);
        assert_ptr_equal(rest, end);
        folded = end + 1;
    }
    return sum;
}

static void stacks_add_up_to_the_peak_and_its_categories(void **state)
{
    const struct trace_source *source = *state;
    const char *trace = source->make();
    char *folded = exported(trace, "collapsed");
    char *report = printed(program_run("report", trace, "--json", NULL));

    assert_int_equal(folded_sum(folded, NULL), json_int(report, "$.peak.allocated"));
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
        const char *name = vs_category_name((enum vs_category)i);
        char path[64];
        char begin[64];

        snprintf(path, sizeof(path), "$.peak.by_category.%s", name);
        snprintf(begin, sizeof(begin), "%s;", name);
        assert_int_equal(folded_sum(folded, begin), json_int(report, path));
    }
    free(report);
    free(folded);
}

static void stacks_are_those_of_the_given_event(void **state)
{
    static const struct {
        const char *at;
        const char *sql;
    } OPTIONS[] = {
        {"end", "SELECT sum(block_size) FROM block WHERE free_seq IS NULL"},
        {"event=1000", "SELECT sum(block_size) FROM block WHERE alloc_seq <= 1000 AND (free_seq IS "
                       "NULL OR free_seq > 1000)"},
        {"event=0", "SELECT 0"},
        {"step=1", "SELECT max(allocated_peak) FROM phase_stat WHERE step = 1"},
        {"step=-1", "SELECT max(allocated_peak) FROM phase_stat WHERE step = -1"},
    };
    const char *trace = rich_trace();

    (void)state;
    for (size_t i = 0; i < sizeof(OPTIONS) / sizeof(OPTIONS[0]); i++) {
        char *folded = exported_at(trace, "collapsed", OPTIONS[i].at);

        assert_int_equal(folded_sum(folded, NULL), sql_int(trace, OPTIONS[i].sql));
        free(folded);
    }
}

static void separators_inside_names_are_replaced(void **state)
{
    const char *trace = program_record(LENET, "odd.db", NULL, NULL);
    char *folded;

    (void)state;
    sql_run(trace, "UPDATE string SET text = 'a;b' || char(10) || 'c' WHERE text = 'addmm'");
    folded = exported(trace, "collapsed");
    assert_non_null(strstr(folded, ";a:b c;"));
    folded_sum(folded, NULL);
    free(folded);
}

static void an_event_beyond_the_trace_is_refused(void **state)
{
    static const struct {
        const char *format;
        const char *at;
        int status;
        const char *says;
    } WRONG[] = {
        {"collapsed", "event=999999", 1, "the trace has no event 999999; its last is 3358"},
        {"collapsed", "event=-1", 1, "the trace has no event -1"},
        {"speedscope", "step=7", 1, "the trace has no step 7"},
        {"collapsed", "event=1x", 2, "--at cannot be `event=1x`"},
        {"collapsed", "noon", 2, "--at cannot be `noon`; legal: peak, end, event=N, step=N"},
        {"svg", "end", 2, "--at is not supported by the format svg"},
        {"csv", "peak", 2, "--at is not supported by the format csv"},
    };
    const char *trace = program_record(LENET, "moment.db", NULL, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        struct program p =
            program_run("export", trace, "--format", WRONG[i].format, "--at", WRONG[i].at, NULL);

        if (p.status != WRONG[i].status || *p.out || !strstr(p.err, WRONG[i].says))
            fail_msg("%s: status %d, %s", WRONG[i].at, p.status, p.err);
        program_release(&p);
    }
}

static void a_what_if_is_drawn_where_the_trace_has_a_net(void **state)
{
    static const struct {
        const char *format;
        const char *pair;
        int status;
        const char *says;
    } WRONG[] = {
        {"svg", "amp=fp17", 1, "amp"},
        {"svg", "amq=fp16", 1, "did you mean"},
        {"snapshot", "amp=fp16", 2, "--whatif is not supported by the format snapshot"},
    };
    const char *trace = program_record(LENET, "asked.db", NULL, NULL);
    char *asked = printed(
        program_run("whatif", trace, "--set", "batch=32", "--set", "amp=fp16", "--json", NULL));
    char *svg = printed(program_run("export", trace, "--format", "svg", "--whatif", "batch=32",
                                    "--whatif", "amp=fp16", NULL));
    char words[128];

    (void)state;
    snprintf(words, sizeof(words),
             "The line is what-if batch=32 amp=fp16, whose highest is %" PRId64 " bytes.",
             json_int(asked, "$.result.allocated"));
    assert_non_null(strstr(svg, words));
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        struct program p = program_run("export", trace, "--format", WRONG[i].format, "--whatif",
                                       WRONG[i].pair, NULL);

        if (p.status != WRONG[i].status || *p.out || !strstr(p.err, WRONG[i].says))
            fail_msg("%s: status %d, %s", WRONG[i].pair, p.status, p.err);
        program_release(&p);
    }
    free(svg);
    free(asked);
}

/* The rows of a report are those of `whatif --each`, to the byte; other formats have none. */
static void a_report_has_the_what_ifs_of_its_net(void **state)
{
    static const struct {
        const char *format;
        const char *value;
        const char *says;
    } WRONG[] = {
        {"html", "maybe", "--whatifs cannot be `maybe`; legal: on, off"},
        {"svg", "on", "--whatifs is not supported by the format svg"},
    };
    const char *trace = program_record(LENET, "report.db", NULL, NULL);
    char *each = printed(program_run("whatif", trace, "--each", "--json", NULL));
    char *html = printed(program_run("export", trace, "--format", "html", NULL));
    char *without =
        printed(program_run("export", trace, "--format", "html", "--whatifs", "off", NULL));
    char words[256];

    (void)state;
    snprintf(words, sizeof(words), "\"peak\": %" PRId64 ", \"delta\": %" PRId64 ",",
             json_int(each, "$.each[0].result.allocated"),
             json_int(each, "$.each[0].delta_allocated"));
    assert_non_null(strstr(html, words));
    assert_non_null(strstr(without, "\"whatifs\": []"));
    for (size_t i = 0; i < sizeof(WRONG) / sizeof(WRONG[0]); i++) {
        struct program p = program_run("export", trace, "--format", WRONG[i].format, "--whatifs",
                                       WRONG[i].value, NULL);

        if (p.status != 2 || *p.out || !strstr(p.err, WRONG[i].says))
            fail_msg("%s: status %d, %s", WRONG[i].value, p.status, p.err);
        program_release(&p);
    }
    free(without);
    free(html);
    free(each);
}

/* What https://www.speedscope.app/file-format-schema.json requires of a sampled profile. */
static void a_speedscope_profile_has_what_its_schema_requires(void **state)
{
    const struct trace_source *source = *state;
    const char *trace = source->make();
    char *json = exported(trace, "speedscope");
    char *report = printed(program_run("report", trace, "--json", NULL));
    char *text = json_text(json, "$.\"$schema\"");

    assert_string_equal(text, "https://www.speedscope.app/file-format-schema.json");
    free(text);
    json_expect(json, "$.shared.frames[0].name", "text");
    json_expect(json, "$.profiles[0].name", "text");
    text = json_text(json, "$.profiles[0].type");
    assert_string_equal(text, "sampled");
    free(text);
    text = json_text(json, "$.profiles[0].unit");
    assert_string_equal(text, "bytes");
    free(text);
    assert_int_equal(json_int(json, "$.profiles[0].startValue"), 0);
    assert_int_equal(json_int(json, "$.profiles[0].endValue"),
                     json_int(report, "$.peak.allocated"));
    json_expect(json, "$.profiles[0].samples[0]", "array");
    json_expect(json, "$.profiles[0].weights[0]", "integer");
    free(report);
    free(json);
}

/* Frames of each sample by number, weights that add up; the same stacks as the folded ones. */
static void a_speedscope_profile_is_the_folded_stacks(void **state)
{
    static const char SAMPLES[] =
        "WITH d(j) AS (SELECT args FROM e) SELECT count(*) FROM d, json_each(d.j, "
        "'$.profiles[0].samples')";
    const char *trace = rich_trace();
    char *json = exported(trace, "speedscope");
    char *folded = exported(trace, "collapsed");
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t lines = 0;

    (void)state;
    for (const char *p = folded; *p; p++)
        lines += *p == '\n';
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE e(args)", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO e VALUES (?1)", -1, &stmt, NULL),
                     SQLITE_OK);
    sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
    assert_int_equal(query_int(db, SAMPLES), lines);
    assert_int_equal(query_int(db, "SELECT sum(w.value) FROM e, json_each(e.args, "
                                   "'$.profiles[0].weights') w"),
                     folded_sum(folded, NULL));
    assert_int_equal(
        query_int(db, "SELECT count(*) FROM e, json_each(e.args, '$.profiles[0].weights')"), lines);
    assert_none(db, "frames that are not there",
                "SELECT 1 FROM e, json_each(e.args, '$.profiles[0].samples') s, json_each(s.value) "
                "f WHERE f.value NOT BETWEEN 0 AND json_array_length(e.args, '$.shared.frames') - "
                "1");
    sqlite3_close(db);
    free(folded);
    free(json);
}

int main(void)
{
    static struct trace_source rich = {rich_trace};
    static struct trace_source imported = {imported_trace};
    static struct trace_source oom = {oom_trace};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(a_profile_over_time_is_well_formed_and_exact, &rich),
        cmocka_unit_test_prestate(a_profile_over_time_is_well_formed_and_exact, &imported),
        cmocka_unit_test_prestate(a_profile_over_time_is_well_formed_and_exact, &oom),
        cmocka_unit_test(every_op_step_and_phase_is_a_slice),
        cmocka_unit_test(running_out_of_memory_is_marked),
        cmocka_unit_test(an_output_named_gz_is_compressed),
        cmocka_unit_test_prestate(stacks_add_up_to_the_peak_and_its_categories, &rich),
        cmocka_unit_test_prestate(stacks_add_up_to_the_peak_and_its_categories, &imported),
        cmocka_unit_test_prestate(stacks_add_up_to_the_peak_and_its_categories, &oom),
        cmocka_unit_test(stacks_are_those_of_the_given_event),
        cmocka_unit_test(separators_inside_names_are_replaced),
        cmocka_unit_test(an_event_beyond_the_trace_is_refused),
        cmocka_unit_test(a_what_if_is_drawn_where_the_trace_has_a_net),
        cmocka_unit_test(a_report_has_the_what_ifs_of_its_net),
        cmocka_unit_test_prestate(a_speedscope_profile_has_what_its_schema_requires, &rich),
        cmocka_unit_test_prestate(a_speedscope_profile_has_what_its_schema_requires, &imported),
        cmocka_unit_test(a_speedscope_profile_is_the_folded_stacks),
    };

    return cmocka_run_group_tests(tests, NULL, cleanup);
}
