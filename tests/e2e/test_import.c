/*
 * tests/e2e/test_import.c - `vramscope import`: the figures of published snapshots, what the trace can and cannot be
 * asked, refusals.
 *
 * The figures are those of tests/golden/alloc/facts.tsv, which were computed without this program. Few of the
 * snapshots are small enough to lie here; of the others the events and states do, as compact lists. With a folder of
 * snapshots as its argument the program takes all of them from there:
 *
 *     build/tests/e2e/test_import FOLDER
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
#include <unistd.h>

#include "base/text.h"
#include "tests/e2e/program.h"
#include "tests/engine/alloc_lists.h"

#define MAX_ROWS 64
#define ATTENTION "tests/golden/snapshots/attention_3g.pickle.gz"
#define TWO_DEVICES "tests/golden/snapshots/two_gpu_state_only.pickle.gz"

static const char *folder = "tests/golden/snapshots";

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static void check(struct program p, int status, const char *out, const char *err)
{
    if (p.status != status || !strstr(p.out, out) || !strstr(p.err, err))
        fail_msg("status %d (not %d), says:\n%s\n%s\nbut should: %s%s", p.status, status, p.out,
                 p.err, out, err);
    program_release(&p);
}

/* The trace of a snapshot, in the test's folder. */
static const char *imported(const char *from)
{
    const char *path = program_path("imported.db");

    check(program_run("import", from, "-o", path, "--force", NULL), 0, " recorded event", "");
    return path;
}

static void same(const struct alloc_facts *facts, const char *json, const char *field,
                 uint64_t expected)
{
    char path[64];

    snprintf(path, sizeof(path), "$.devices[0].%s", field);
    if (expected != ALLOC_FACT_NONE && (uint64_t)json_int(json, path) != expected)
        fail_msg("%s, device %" PRIu64 ": %s is %" PRId64 ", the table has %" PRIu64, facts->file,
                 facts->device, field, json_int(json, path), expected);
}

static void check_report(const struct alloc_facts *facts, const char *trace, uint64_t device)
{
    struct program p = program_run("report", trace, "--json", NULL);

    if (p.status)
        fail_msg("%s", p.err);
    same(facts, p.out, "device", device);
    same(facts, p.out, "events", facts->events);
    same(facts, p.out, "segments", facts->segments);
    same(facts, p.out, "blocks", facts->blocks);
    same(facts, p.out, "reserved", facts->reserved);
    same(facts, p.out, "allocated", facts->allocated);
    same(facts, p.out, "peak_allocated", facts->peak_allocated);
    same(facts, p.out, "peak_requested", facts->peak_requested);
    same(facts, p.out, "peak_reserved", facts->peak_reserved);
    program_release(&p);
}

/* The totals again, counted from the rows in SQL. */
static void check_rows(const struct alloc_facts *facts, const char *trace)
{
    int64_t allocs = sql_int(trace, "SELECT count(*) FROM event WHERE kind = 'alloc' AND seq > "
                                    "(SELECT value + 0 FROM meta WHERE key = 'start_events')");
    int64_t alive = sql_int(trace, "SELECT coalesce(sum(block_size), 0) FROM block "
                                   "WHERE free_seq IS NULL");

    assert_int_equal(allocs, facts->allocs);
    assert_int_equal(alive, facts->allocated);
    if (facts->is_start_empty)
        assert_int_equal(sql_int(trace, "SELECT value + 0 FROM meta WHERE key = 'start_events'"),
                         0);
}

static void a_published_snapshot_has_its_published_figures(void **state)
{
    const struct alloc_facts *facts = *state;
    const char *trace = program_path("fact.db");
    char device[24];
    char path[256];
    bool is_snapshot;

    snprintf(path, sizeof(path), "%s/%s.gz", folder, facts->file);
    is_snapshot = access(path, R_OK) == 0;
    if (!is_snapshot)
        snprintf(path, sizeof(path), "%s/%.*s.%u.txt", ALLOC_LISTS_DIR,
                 (int)strcspn(facts->file, "."), facts->file, (unsigned)facts->device);
    snprintf(device, sizeof(device), "%" PRIu64, facts->device);
    check(program_run("import", path, "-o", trace, "--force", "--device", device, NULL), 0,
          " recorded event", "");
    check_report(facts, trace, is_snapshot ? facts->device : 0);
    check_rows(facts, trace);
}

static void an_empty_snapshot_makes_an_empty_trace(void **state)
{
    const char *trace = imported("tests/golden/snapshots/empty_snapshot.pickle.gz");

    (void)state;
    check(program_run("report", trace, NULL), 0, "Nothing was allocated.", "");
    assert_int_equal(sql_int(trace, "SELECT count(*) FROM event"), 0);
}

static void fields_missing_from_a_snapshot_are_not_invented(void **state)
{
    const char *trace = imported(ATTENTION);
    struct program p = program_run("report", trace, "--json", NULL);
    char *text = json_text(p.out, "$.source.kind");

    (void)state;
    assert_string_equal(text, "imported");
    free(text);
    text = json_text(p.out, "$.source.name");
    assert_string_equal(text, ATTENTION);
    free(text);
    assert_non_null(strstr(p.out, "\"kept\": null"));
    assert_non_null(strstr(p.out, "\"saved\": null"));
    assert_non_null(strstr(p.out, "\"parameters\": null"));
    assert_non_null(strstr(p.out, "\"total_flops\": null"));
    assert_int_equal(json_int(p.out, "$.peak.by_category.workspace"), 17039360);
    assert_int_equal(json_int(p.out, "$.peak.allocated"), 3249144832);
    program_release(&p);
    check(program_run("report", trace, NULL), 0, "not recorded in PyTorch's snapshots", "");
}

/* line 12 of the benchmark multiplies queries and keys: two 8.1 MiB workspaces are cuBLAS's, the others are tensors */
static void stacks_become_locations(void **state)
{
    const char *trace = imported(ATTENTION);

    (void)state;
    assert_int_equal(sql_int(trace, "SELECT count(*) FROM event WHERE kind = 'alloc' AND "
                                    "category = 'workspace' AND size > 8000000"),
                     2);
    assert_int_equal(sql_int(trace, "SELECT line FROM event WHERE kind = 'alloc' AND op = 'randn' "
                                    "ORDER BY seq LIMIT 1"),
                     35);
    assert_int_equal(sql_int(trace, "SELECT count(*) FROM event WHERE kind = 'alloc' AND "
                                    "func = 'trace_peak_memory.py:main' AND line = 35"),
                     1);
    assert_true(sql_int(trace, "SELECT max(time_ns) FROM event") > 0);
    assert_int_equal(sql_int(trace,
                             "SELECT count(*) FROM event a JOIN event b ON b.seq = a.seq + 1 "
                             "WHERE b.time_ns < a.time_ns"),
                     0);
}

static void toggles_that_need_the_net_are_refused_with_the_reason(void **state)
{
    const char *trace = imported(ATTENTION);

    (void)state;
    check(program_run("whatif", trace, "--set", "amp=bf16", NULL), 1, "",
          "has no net (it was imported)");
    check(program_run("tui", trace, "--dump", "--size", "120x40", "--keys", "gw", NULL), 0,
          "The toggles that need the net (checkpoint, amp and others)", "");
    check(program_run("tui", trace, "--dump", "--size", "120x40", "--set", "amp=bf16", NULL), 0,
          "has no net (it was imported), so `amp`", "");
    check(program_run("diff", trace, trace, NULL), 0, "", "");
    check(program_run("tui", trace, "--dump", "--size", "120x40", NULL), 0, "peak 3.03 GiB", "");
}

/* A snapshot does not say what was read, so no screen says that something is not read again. */
static void an_imported_trace_claims_no_last_use(void **state)
{
    const char *trace = imported(ATTENTION);
    static const char *const KEYS[] = {"gkM", "gbM", "gyM"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct program p =
            program_run("tui", trace, "--dump", "--size", "120x40", "--keys", KEYS[i], NULL);

        if (p.status || !strstr(p.out, "peak 3.03 GiB"))
            fail_msg("%s", p.err);
        assert_null(strstr(p.out, "reads it again"));
        assert_null(strstr(p.out, "need not be held"));
        assert_null(strstr(p.out, " !"));
        program_release(&p);
    }
    check(program_run("tui", trace, "--dump", "--keys", "s", NULL), 0, "a snapshot has no ops", "");
}

/*
 * 3.0 GiB of blocks in 3.5 GiB of segments; on a device of 3 GiB its requests run out of memory, in --each every row
 * is run.
 */
static void imported_requests_can_be_replayed_with_other_settings(void **state)
{
    const char *trace = imported(ATTENTION);
    struct program p = program_run("whatif", trace, "--capacity", "3G", "--json", NULL);

    (void)state;
    assert_int_equal(json_int(p.out, "$.baseline.reserved"), 3781165056);
    assert_true(json_int(p.out, "$.result.reserved") <= INT64_C(3) << 30);
    assert_non_null(strstr(p.out, "\"out_of_memory\": true"));
    program_release(&p);
    check(program_run("whatif", trace, "--set", "alloc-conf=expandable_segments:True", NULL), 0,
          "reserved", "");
    check(program_run("whatif", trace, "--each", NULL), 0, "max_split_size_mb:128", "");
    check(program_run("whatif", trace, "--capacity", "much", NULL), 2, "", "a size such as 8G");
    check(program_run("tui", trace, "--dump", "--size", "120x40", "--set",
                      "alloc-conf=max_split_size_mb:64", "--keys", "gw", NULL),
          0, "reserved 3.52 GiB", "");
}

static void a_device_can_be_chosen(void **state)
{
    const char *trace = program_path("device.db");
    char numbered[256];

    (void)state;
    check(program_run("import", TWO_DEVICES, "-o", trace, "--device", "7", NULL), 1, "",
          "no data of device 7");
    check(program_run("import", TWO_DEVICES, "-o", trace, "--device", "first", NULL), 2, "",
          "give a number from 0 on");
    check(program_run("import", TWO_DEVICES, "-o", trace, "--json", NULL), 0, "\"device\": 0", "");
    /* a trace of one device opens by its number, too */
    snprintf(numbered, sizeof(numbered), "%s@0", trace);
    check(program_run("tui", numbered, "--dump", NULL), 0, "@0", "");
    snprintf(numbered, sizeof(numbered), "%s@1", trace);
    check(program_run("tui", numbered, "--dump", NULL), 1, "",
          "the trace has no device 1; its device is 0");
}

static void an_existing_trace_is_only_replaced_by_a_complete_one(void **state)
{
    const char *trace = imported(ATTENTION);
    const char *cut = program_file("cut.pickle", "\x80\x02}");

    (void)state;
    check(program_run("import", ATTENTION, "-o", trace, NULL), 1, "", "--force");
    check(program_run("import", cut, "-o", trace, "--force", NULL), 1, "", "cut.pickle: offset 3");
    assert_int_equal(sql_int(trace, "SELECT count(*) FROM event WHERE kind = 'alloc'"), 36);
}

static void a_file_without_a_snapshot_is_refused(void **state)
{
    const char *code = program_file("code.pickle", "\x80\x02"
                                                   "cposix\nsystem\n(X\x02.");
    const char *other = program_file("other.pickle", "\x80\x02}.");
    const char *trace = program_path("none.db");

    (void)state;
    check(program_run("import", code, "-o", trace, NULL), 1, "",
          "code.pickle: offset 2: opcode GLOBAL, which data never needs: it could run code");
    check(program_run("import", other, "-o", trace, NULL), 1, "", "it has no `segments`");
    check(program_run("import", "README.md", "-o", trace, NULL), 1, "",
          "README.md: this is neither a memory snapshot of PyTorch");
    check(program_run("import", "nowhere.pickle", "-o", trace, NULL), 1, "", "nowhere.pickle: ");
    check(program_run("import", NULL), 2, "", "FILE");
    assert_int_not_equal(access(trace, F_OK), 0);
}

/* A segment of 2 MiB is free at the end, but the one event allocates from it. */
static void an_inconsistent_history_is_imported_in_part_with_the_reason(void **state)
{
    const char *path = program_file("wrong.txt", "vramscope allocator list 1\nconf\nstate 1 1\n"
                                                 "S 1000 4096 0 l\ni 4096\n"
                                                 "events 1\na 4096 2097152\n");
    const char *trace = program_path("wrong.db");

    (void)state;
    check(program_run("import", path, "-o", trace, "--strict", NULL), 1, "", "wrong.txt: event 0");
    assert_int_not_equal(access(trace, F_OK), 0);
    check(program_run("import", path, "-o", trace, NULL), 0,
          "in part: event 0 (alloc of 2097152 bytes at 0x200000) cannot be undone", "");
    check(program_run("report", trace, NULL), 0, "\nimported in part: event 0", "");
    check(program_run("report", trace, NULL), 0, "  not sure: 1 blocks that the events leave alive",
          "");
    check(program_run("report", trace, "--json", NULL), 0, "\"reason\": \"event 0", "");
    check(program_run("tui", trace, "--dump", "--size", "100x30", NULL), 0, "imported in part", "");
    check(program_run("whatif", trace, "--capacity", "8G", NULL), 1, "",
          "imported in part (event 0");
}

int main(int argc, char **argv)
{
    static struct alloc_facts rows[MAX_ROWS];
    static struct CMUnitTest tests[MAX_ROWS + 16] = {
        cmocka_unit_test(an_empty_snapshot_makes_an_empty_trace),
        cmocka_unit_test(fields_missing_from_a_snapshot_are_not_invented),
        cmocka_unit_test(stacks_become_locations),
        cmocka_unit_test(an_imported_trace_claims_no_last_use),
        cmocka_unit_test(toggles_that_need_the_net_are_refused_with_the_reason),
        cmocka_unit_test(imported_requests_can_be_replayed_with_other_settings),
        cmocka_unit_test(a_device_can_be_chosen),
        cmocka_unit_test(an_existing_trace_is_only_replaced_by_a_complete_one),
        cmocka_unit_test(a_file_without_a_snapshot_is_refused),
        cmocka_unit_test(an_inconsistent_history_is_imported_in_part_with_the_reason),
    };
    struct vs_error err = VS_ERROR_INIT;
    size_t count = 0;

    while (tests[count].name)
        count++;
    if (argc > 1)
        folder = argv[1];
    for (size_t i = 0; i < MAX_ROWS && alloc_facts_read(i, &rows[i], &err) == VS_OK; i++)
        tests[count++] =
            (struct CMUnitTest){.name = rows[i].file,
                                .test_func = a_published_snapshot_has_its_published_figures,
                                .initial_state = &rows[i]};
    if (err.status != VS_E_NOT_FOUND) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return _cmocka_run_group_tests("e2e/import", tests, count, NULL, cleanup);
}
