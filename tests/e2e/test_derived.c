/*
 * tests/e2e/test_derived.c - what `vramscope import` derives, against what is true: nets that PyTorch ran with its
 * memory history on (tests/oracle/snapshot.py), and our own recording of the same net, whose phases, steps, categories
 * and modules are known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/e2e/program.h"

#define FOLDER "tests/golden/derived/"

/*
 * What libraries take, which our recording has no tensors for: recognized by its class, without C++ frames by its size.
 */
#define TENSORS "kind = 'alloc' AND category <> 'workspace' AND size NOT IN (1048576, 8519680)"

/* A snapshot and the recording of the same run. options: of `record`, ended by NULL. */
struct pair {
    const char *snapshot;
    const char *net;
    const char *options[8];
    const char *steps_by;
};

static const struct pair PAIRS[] = {
    {"lenet", "lenet", {NULL}, "optimizer"},
    {"lenet_notes", "lenet", {NULL}, "profiler"},
    {"lenet_accumulate", "lenet", {"--accumulate", "4", NULL}, "optimizer"},
    {"lenet_adam_python",
     "lenet",
     {"--optimizer", "adam", "--foreach", "off", "--zero-grad", "zeros", NULL},
     "optimizer"},
    {"lenet_amp", "lenet", {"--optimizer", "adamw", "--amp", "fp16", NULL}, "optimizer"},
    {"mlp_momentum", "mlp_swish", {"--optimizer", "momentum", NULL}, "optimizer"},
};

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static void must(struct program p)
{
    if (p.status)
        fail_msg("status %d: %s", p.status, p.err);
    program_release(&p);
}

static void make(const struct pair *pair, const char **imported, const char **recorded)
{
    const char *const *o = pair->options;
    char path[128];

    *imported = program_path("imported.db");
    *recorded = program_path("recorded.db");
    snprintf(path, sizeof(path), FOLDER "%s.pickle.gz", pair->snapshot);
    must(program_run("import", path, "-o", *imported, "--force", NULL));
    snprintf(path, sizeof(path), "sample_nets/%s.py", pair->net);
    must(program_run("record", path, "-o", *recorded, "--force", "--device", "meta", o[0], o[1],
                     o[2], o[3], o[4], o[5], NULL));
}

/* The answers of two traces, which have to be the same text. */
static void check_same(const char *what, const char *imported, const char *imported_query,
                       const char *recorded, const char *recorded_query)
{
    struct program a = program_run("sql", imported, imported_query, NULL);
    struct program b = program_run("sql", recorded, recorded_query, NULL);

    if (a.status || b.status || strcmp(a.out, b.out) != 0 || strlen(a.out) < 40)
        fail_msg("%s: derived\n%s\nrecorded\n%s%s%s", what, a.out, b.out, a.err, b.err);
    program_release(&a);
    program_release(&b);
}

/* Of each allocation in order. */
static void steps_and_phases_are_those_of_the_program(void **state)
{
    static const char query[] =
        "SELECT step, phase, size FROM event WHERE " TENSORS " ORDER BY seq";

    (void)state;
    for (size_t i = 0; i < sizeof(PAIRS) / sizeof(PAIRS[0]); i++) {
        const char *imported;
        const char *recorded;
        struct program p;
        char *by;

        make(&PAIRS[i], &imported, &recorded);
        check_same(PAIRS[i].snapshot, imported, query, recorded, query);
        p = program_run("report", imported, "--json", NULL);
        by = json_text(p.out, "$.derived.steps_by");
        assert_string_equal(by, PAIRS[i].steps_by);
        assert_non_null(strstr(p.out, "\"steps_alike\": 1"));
        free(by);
        program_release(&p);
    }
}

/*
 * In a recording a block's category follows its life; the one that tells is what autograd or the optimizer made of it.
 */
static void categories_are_those_of_our_recording(void **state)
{
    static const char imported_query[] =
        "SELECT category, count(*), sum(size) FROM event WHERE " TENSORS
        " GROUP BY category ORDER BY category";
    static const char recorded_query[] =
        "SELECT category, count(*), sum(size) FROM (SELECT coalesce(c.category, a.category) "
        "category, a.size "
        "FROM (SELECT * FROM event WHERE " TENSORS ") a LEFT JOIN "
        "(SELECT block, max(category) category FROM event WHERE kind = 'category' AND category IN "
        "('saved', 'gradient', 'optimizer', 'parameter', 'buffer', 'input') GROUP BY block) c ON "
        "c.block = "
        "a.block) "
        "GROUP BY category ORDER BY category";

    const char *imported;
    const char *recorded;

    (void)state;
    /* of the other two a few bytes differ: docs/formats/import.md */
    for (size_t i = 0; i < 4; i++) {
        make(&PAIRS[i], &imported, &recorded);
        check_same(PAIRS[i].snapshot, imported, imported_query, recorded, recorded_query);
    }
    /* what a stranger's program did on a GPU, and the net file that does the same */
    imported = program_path("lm4.db");
    recorded = program_path("lm4_own.db");
    must(program_run("import", "tests/golden/snapshots/lm4_forward_ctx100.pickle.gz", "-o",
                     imported, NULL));
    must(program_run("record", "sample_nets/lm4_forward.py", "-o", recorded, "--device", "meta",
                     NULL));
    check_same("lm4_forward", imported, imported_query, recorded, recorded_query);
}

/* Modules have other names, but as many, each with the same bytes in the same order. */
static void modules_are_those_of_our_recording(void **state)
{
    static const char query[] =
        "SELECT count(*), sum(size) FROM event WHERE " TENSORS
        " AND phase = 'forward' AND module <> '' GROUP BY module ORDER BY min(seq)";

    (void)state;
    for (size_t i = 0; i < sizeof(PAIRS) / sizeof(PAIRS[0]); i++) {
        const char *imported;
        const char *recorded;

        make(&PAIRS[i], &imported, &recorded);
        check_same(PAIRS[i].snapshot, imported, query, recorded, query);
    }
}

/* The line of each op of the forward is that of the net file. */
static void lines_are_those_of_the_net(void **state)
{
    static const char imported_query[] = "SELECT line, size FROM event WHERE " TENSORS
                                         " AND phase = 'forward' AND func = 'lenet.py:forward' "
                                         "ORDER BY seq";
    static const char recorded_query[] =
        "SELECT line, size FROM event WHERE " TENSORS " AND phase = 'forward' ORDER BY seq";
    const char *imported;
    const char *recorded;

    (void)state;
    make(&PAIRS[0], &imported, &recorded);
    check_same("lenet", imported, imported_query, recorded, recorded_query);
}

/* The figures are those of the allocator whatever was derived: a list without stacks gives the same. */
static void allocator_figures_do_not_depend_on_call_stacks(void **state)
{
    static const char figures[] =
        "SELECT max(allocated_peak), max(requested_peak), max(reserved_peak) "
        "FROM phase_stat";
    const char *with = program_path("with.db");
    const char *without = program_path("without.db");

    (void)state;
    must(program_run("import", "tests/golden/snapshots/lm4_forward_ctx100.pickle.gz", "-o", with,
                     NULL));
    must(program_run("import", "tests/golden/alloc/lm4_forward_ctx100.0.txt", "-o", without, NULL));
    check_same("lm4_forward", with, figures, without, figures);
    check_same("lm4_forward", with,
               "SELECT kind, size, block_size, address FROM event WHERE kind IN ('alloc', 'free') "
               "ORDER BY seq",
               without,
               "SELECT kind, size, block_size, address FROM event WHERE kind IN ('alloc', 'free') "
               "ORDER BY seq");
}

/* The rows of a field add up to `total`. */
static void check_sum(const char *json, const char *rows, const char *field, int64_t total)
{
    int64_t sum = 0;

    for (unsigned i = 0;; i++) {
        char path[64];
        char *text;

        snprintf(path, sizeof(path), "$.%s[%u].%s", rows, i, field);
        text = json_text(json, path);
        if (!text)
            break;
        sum += json_int(json, path);
        free(text);
    }
    assert_int_equal(sum, total);
}

/* Two imported traces are compared by what was derived, and a line is one of a function. */
static void two_imported_traces_can_be_compared(void **state)
{
    static const char *const BY[] = {"category", "module", "line", "tensor"};
    const char *a = program_path("a.db");
    const char *b = program_path("b.db");
    struct program p;

    (void)state;
    must(program_run("import", FOLDER "lenet.pickle.gz", "-o", a, NULL));
    must(program_run("import", FOLDER "lenet_amp.pickle.gz", "-o", b, NULL));
    for (size_t i = 0; i < sizeof(BY) / sizeof(BY[0]); i++) {
        p = program_run("diff", a, b, "--by", BY[i], "--json", NULL);
        assert_int_equal(p.status, 1);
        check_sum(p.out, "rows", "delta", json_int(p.out, "$.delta_allocated"));
        program_release(&p);
    }
    p = program_run("diff", a, b, "--by", "line", NULL);
    assert_non_null(strstr(p.out, "line 24 | lenet.py:forward"));
    assert_null(strstr(p.out, "saved for backward when"));
    program_release(&p);
}

/*
 * The last 300 events of three steps with adam: what was allocated before is recognized by the state at the end, or by
 * who let it go.
 */
static void blocks_of_overwritten_events_are_classified_from_the_final_state(void **state)
{
    const char *trace = program_path("last.db");
    struct program p;

    (void)state;
    must(program_run("import", FOLDER "lenet_last.pickle.gz", "-o", trace, NULL));
    p = program_run("report", trace, "--json", NULL);
    /* as of the whole run: 10 parameters, each block rounded up, and two states for each */
    assert_int_equal(json_int(p.out, "$.peak.by_category.parameter"), 249344);
    assert_int_equal(json_int(p.out, "$.peak.by_category.optimizer"), 2 * 249344);
    assert_int_equal(json_int(p.out, "$.peak.by_category.input"), 200704 + 512);
    assert_int_equal(json_int(p.out, "$.peak.by_category.other"), 0);
    program_release(&p);
}

/* Which line, module, category holds most at the peak: the rows say it, and add up. */
static void the_report_names_who_allocated_what_fills_the_device(void **state)
{
    const char *trace = program_path("report.db");
    struct program p;
    char *text;

    (void)state;
    must(program_run("import", FOLDER "lenet.pickle.gz", "-o", trace, NULL));
    p = program_run("report", trace, "--json", "--top", "1000", NULL);
    check_sum(p.out, "by_line", "bytes", json_int(p.out, "$.peak.allocated"));
    check_sum(p.out, "by_module", "bytes", json_int(p.out, "$.peak.allocated"));
    check_sum(p.out, "by_layers", "bytes", json_int(p.out, "$.peak.allocated"));
    text = json_text(p.out, "$.derived.from");
    assert_string_equal(text, "python,c++");
    free(text);
    program_release(&p);
    p = program_run("report", trace, NULL);
    assert_non_null(strstr(p.out, "derived from python,c++ frames"));
    assert_non_null(strstr(p.out, "Allocated by these lines"));
    assert_non_null(strstr(p.out, "line 24 of lenet.py:forward"));
    program_release(&p);
    p = program_run("tui", trace, "--dump", "--size", "120x40", NULL);
    assert_non_null(strstr(p.out, "(derived)"));
    program_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_phases_are_those_of_the_program),
        cmocka_unit_test(categories_are_those_of_our_recording),
        cmocka_unit_test(modules_are_those_of_our_recording),
        cmocka_unit_test(lines_are_those_of_the_net),
        cmocka_unit_test(allocator_figures_do_not_depend_on_call_stacks),
        cmocka_unit_test(two_imported_traces_can_be_compared),
        cmocka_unit_test(blocks_of_overwritten_events_are_classified_from_the_final_state),
        cmocka_unit_test(the_report_names_who_allocated_what_fills_the_device),
    };

    return cmocka_run_group_tests_name("e2e/derived", tests, NULL, cleanup);
}
