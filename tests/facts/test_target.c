/*
 * tests/facts/test_target.c - the toggle `target`: what it adds, and what it leaves alone.
 *
 * Sizes and order of what it adds are compared with PyTorch's in tests/golden_check/test_golden_scratch.c and
 * test_recorded_gpu.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "replay/inspect/alive.h"
#include "replay/report/report.h"
#include "tests/facts/facts.h"
#include "whatif/whatif.h"

/* An allocation or free of a tensor; number: of the allocation among those of tensors, from 0. */
struct row {
    bool is_alloc;
    uint64_t bytes;
    uint64_t number;
};

struct rows {
    struct row *items;
    size_t count, cap;
    uint64_t scratch; /* allocations that are no tensor's */
};

/* Blocks of no tensor have no row. */
static struct rows rows_of(struct rpl_trace *trace)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    uint64_t events = rpl_trace_event_count(trace);
    uint64_t *number = vs_calloc(events + 2, sizeof(*number));
    struct vs_error err = VS_ERROR_INIT;
    struct rows rows = {NULL, 0, 0, 0};
    const struct vs_event *event;
    uint64_t next = 0;

    rpl_scan_init(scan, trace, 1, events);
    while ((event = rpl_scan_next(scan, &err)) != NULL) {
        bool is_alloc = event->kind == VS_EV_ALLOC;

        if (!is_alloc && event->kind != VS_EV_FREE)
            continue;
        if (is_alloc && !event->alloc.tensor) {
            assert_int_equal(event->alloc.category, VS_CAT_WORKSPACE);
            rows.scratch++;
            number[event->alloc.block] = UINT64_MAX;
        } else if (is_alloc) {
            number[event->alloc.block] = next++;
        }
        if (number[event->alloc.block] == UINT64_MAX)
            continue;
        rows.items = vs_grow(rows.items, rows.count, &rows.cap, sizeof(*rows.items));
        rows.items[rows.count++] =
            (struct row){is_alloc, event->alloc.requested_bytes, number[event->alloc.block]};
    }
    assert_int_equal(scan->status, VS_OK);
    vs_free(number);
    vs_free(scan);
    return rows;
}

static const char *const NETS[] = {"tests/nets/gpt_tiny.py", "tests/nets/resnet_small.py",
                                   "tests/nets/lstm_cells.py", "tests/nets/vit_small.py",
                                   "tests/nets/gpt_tiny_ckpt.py"};
#define NET_COUNT (sizeof(NETS) / sizeof(NETS[0]))

static void tensors_are_the_same_with_a_target(void **state)
{
    static const char *const TOGGLES[] = {"target=a100-80", "target=t4 workspace=2.6",
                                          "target=b200 workspace=2.9"};

    (void)state;
    for (size_t i = 0; i < NET_COUNT; i++) {
        struct facts_net net = facts_net_read(NETS[i]);
        struct facts_run plain = facts_run_net(&net, "", false, NULL);
        struct rows a = rows_of(plain.trace);

        assert_int_equal(a.scratch, 0);
        for (size_t k = 0; k < sizeof(TOGGLES) / sizeof(TOGGLES[0]); k++) {
            struct facts_run with = facts_run_net(&net, TOGGLES[k], false, NULL);
            struct rows b = rows_of(with.trace);

            assert_true(b.scratch > 0);
            assert_int_equal(a.count, b.count);
            for (size_t n = 0; n < a.count; n++) {
                assert_int_equal(a.items[n].is_alloc, b.items[n].is_alloc);
                assert_int_equal(a.items[n].bytes, b.items[n].bytes);
                assert_int_equal(a.items[n].number, b.items[n].number);
            }
            vs_free(b.items);
            facts_run_release(&with);
        }
        vs_free(a.items);
        facts_run_release(&plain);
        facts_net_release(&net);
    }
}

static void with_data_the_events_are_those_of_meta(void **state)
{
    struct facts_net net = facts_net_read("tests/nets/gpt_tiny.py");
    struct facts_run meta = facts_run_net(&net, "target=l4", false, NULL);
    struct facts_run data = facts_run_net(&net, "target=l4", true, NULL);

    (void)state;
    facts_same("target=l4", meta.trace, "meta", data.trace, "cpu");
    facts_run_release(&data);
    facts_run_release(&meta);
    facts_net_release(&net);
}

static void the_two_cached_workspaces_are_not_leaks(void **state)
{
    struct facts_net net = facts_net_read("tests/nets/mlp.py");
    struct facts_run run = facts_run_net(&net, "target=h100 workspace=2.6 steps=5", false, NULL);
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_leak leak = {0};
    struct rpl_kept_list kept = {.count = 0};
    struct rpl_summary sum = {.events = 0};
    struct rpl_index *index;
    struct rpl_cursor *cursor;

    (void)state;
    assert_int_equal(rpl_index_open(run.trace, NULL, NULL, &index, &err), VS_OK);
    cursor = rpl_cursor_new(index);
    assert_int_equal(rpl_alive_leak(index, &leak, &err), VS_OK);
    assert_true(leak.at > 0);
    assert_int_equal(leak.count, 0);
    assert_int_equal(rpl_summary_fill(&sum, run.trace, &err), VS_OK);
    assert_true(sum.peak.by_category[VS_CAT_WORKSPACE] >= 2 * 33554432);
    assert_true(sum.peak.by_category[VS_CAT_WORKSPACE] < 3 * 33554432);
    assert_int_equal(rpl_cursor_seek(cursor, sum.peak.event, &err), VS_OK);
    assert_int_equal(rpl_alive_kept(cursor, &kept, &err), VS_OK);
    for (size_t i = 0; i < kept.count; i++)
        assert_int_not_equal(kept.items[i].block.category, VS_CAT_WORKSPACE);
    rpl_cursor_free(cursor);
    rpl_index_free(index);
    rpl_summary_release(&sum);
    facts_run_release(&run);
    facts_net_release(&net);
}

/* A device that runs out of memory is an answer of a what-if. The caller frees the trace. */
static struct rpl_trace *report_of(const char *path, const char *toggles, struct rpl_report *report,
                                   struct vs_text *text)
{
    struct facts_net net = facts_net_read(path);
    struct rpl_trace *base = rpl_trace_new(), *trace = rpl_trace_new();
    struct vs_error err = VS_ERROR_INIT;
    struct vs_toggles set = {{NULL}};

    facts_toggles(toggles, &set);
    rpl_trace_set_source(base, net.path, net.text);
    memset(report, 0, sizeof(*report));
    if (wif_run(base, &set, trace, &err) || rpl_report_fill(report, trace, 0, &err))
        fail_msg("%s", err.text);
    rpl_report_text(report, "t.db", text);
    vs_toggles_release(&set);
    rpl_trace_free(base);
    facts_net_release(&net);
    return trace;
}

static void a_peak_names_what_it_does_not_include(void **state)
{
    static const struct {
        const char *net, *toggles, *said;
    } CASES[] = {
        {"tests/nets/resnet_small.py", "",
         "  excludes library workspaces and scratch memory of kernels "},
        {"tests/nets/resnet_small.py", "target=a100-80", "  lower bound: cuDNN's workspace in "},
        {"tests/nets/gpt_tiny.py", "target=a100-80", "Fits the A100 80 GB: "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct vs_text text = {NULL, 0, 0};
        struct rpl_report report;
        struct rpl_trace *trace = report_of(CASES[i].net, CASES[i].toggles, &report, &text);

        if (!strstr(vs_text_get(&text), CASES[i].said))
            fail_msg("\"%s\" is not in:\n%s", CASES[i].said, vs_text_get(&text));
        assert_int_equal(report.sum.uncertainty.is_tensors_only, i == 0);
        assert_int_equal(report.sum.uncertainty.allocs > 0, i < 2);
        assert_true(report.sum.uncertainty.highest <= report.sum.peak.allocated);
        vs_text_release(&text);
        rpl_report_release(&report);
        rpl_trace_free(trace);
    }
}

static void a_run_too_large_for_the_target_ends_out_of_memory(void **state)
{
    struct vs_text text = {NULL, 0, 0};
    struct rpl_report report;
    struct rpl_trace *trace =
        report_of("sample_nets/gpt2_small.py", "target=t4 batch=64 steps=1", &report, &text);

    (void)state;
    assert_true(report.sum.oom.event > 0);
    assert_true(report.sum.peak.reserved <= 15095 * UINT64_C(1048576));
    assert_non_null(strstr(vs_text_get(&text), "Does not fit the Tesla T4: "));
    vs_text_release(&text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_the_same_with_a_target),
        cmocka_unit_test(with_data_the_events_are_those_of_meta),
        cmocka_unit_test(the_two_cached_workspaces_are_not_leaks),
        cmocka_unit_test(a_peak_names_what_it_does_not_include),
        cmocka_unit_test(a_run_too_large_for_the_target_ends_out_of_memory),
    };

    return cmocka_run_group_tests_name("facts/target", tests, NULL, NULL);
}
