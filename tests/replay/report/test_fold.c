/*
 * tests/replay/report/test_fold.c - a report from a few of the steps that repeat equals one that reads all events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/mem.h"
#include "base/text.h"
#include "lang/run/run.h"
#include "replay/index/index.h"
#include "replay/report/fold.h"
#include "replay/report/report.h"
#include "replay/report/report_internal.h"
#include "store/codec/codec.h"
#include "store/reader.h"
#include "store/repeat/repeat.h"
#include "tests/facts/facts.h"
#include "tests/store/trace_file.h"
#include "tracer/recorder.h"

#define PATH_SIZE 4096

/* Chunks of 64 events are seldom copies of others. */
static void skip_where_chunks_are_short(void)
{
    if (STO_CHUNK_EVENTS < 1000) {
        printf("skipped because chunks have %d events\n", STO_CHUNK_EVENTS);
        skip();
    }
}

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s: %s", vs_status_name(st), err->text);
}

static void print_nothing(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
}

static void record(const char *path, const char *net_path, const char *toggles, bool is_complete)
{
    struct facts_net net = facts_net_read(net_path);
    struct lang_settings settings = {.file_name = net.path, .text = net.text};
    struct vs_toggles set = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder *rec = NULL;
    struct lang_result result;

    memset(&result, 0, sizeof(result));
    facts_toggles(toggles, &set);
    ok(trc_recorder_open(path, NULL, &rec, &err), &err);
    trc_recorder_meta_set(rec, "source_kind", "net");
    trc_recorder_source_add(rec, net.path, net.text);
    settings.len = strlen(net.text);
    settings.toggles = &set;
    settings.observer = trc_recorder_observer(rec);
    settings.print = print_nothing;
    ok(lang_run(&settings, &result, &err), &err);
    ok(trc_recorder_close(rec, is_complete, &err), &err);
    lang_result_release(&result);
    vs_toggles_release(&set);
    facts_net_release(&net);
}

static void sql(const char *path, const char *text)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void derived_delete(const char *path)
{
    sql(path, "DELETE FROM derived");
}

/* The whole report as JSON, which the caller releases; whether it was folded. */
static struct vs_text report_of(const char *path, bool is_folded)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct rpl_report report = {.trace = NULL};
    struct rpl_trace *trace = NULL;

    ok(rpl_trace_open(path, &trace, &err), &err);
    if (is_folded)
        assert_true(rpl_fold_report(&report, trace, 20));
    else
        ok(rpl_report_read(&report, trace, 20, false, &err), &err);
    rpl_report_json(&report, &text);
    rpl_report_text(&report, "the trace", &text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
    return text;
}

/* The folded report on the trace at `path` is the one that reads all events. */
static void folded_compare(const char *path, const char *what)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    struct vs_text folded;
    struct vs_text read;

    derived_delete(path);
    folded = report_of(path, true);
    ok(rpl_trace_open(path, &trace, &err), &err);
    ok(rpl_index_make(path, rpl_trace_event_count(trace), NULL, NULL, &err), &err);
    assert_true(rpl_index_is_stored(trace));
    rpl_trace_free(trace);
    read = report_of(path, false);
    if (strcmp(vs_text_get(&folded), vs_text_get(&read)) != 0) {
        const char *a = vs_text_get(&folded);
        const char *b = vs_text_get(&read);
        size_t at = 0;

        while (a[at] == b[at])
            at++;
        fail_msg("%s: %.80s; but should: %.80s", what, a + (at > 20 ? at - 20 : 0),
                 b + (at > 20 ? at - 20 : 0));
    }
    vs_text_release(&folded);
    /* with an index, but without figures */
    folded = report_of(path, true);
    assert_string_equal(vs_text_get(&folded), vs_text_get(&read));
    vs_text_release(&folded);
    vs_text_release(&read);
}

static void a_folded_report_equals_one_of_all_events(void **state)
{
    static const char *const RUNS[][2] = {
        {"sample_nets/gpt2_small.py", "steps=26"},
        {"sample_nets/gpt2_small.py", "steps=26 checkpoint=blocks optimizer=momentum"},
        {"sample_nets/vit_tiny.py", "steps=30 amp=bf16"},
        {"sample_nets/resnet152.py", "steps=24 zero-grad=zeros optimizer=sgd"},
        {"sample_nets/gpt2_small.py", "steps=18 accumulate=2 drop-outputs=on"},
    };
    char path[PATH_SIZE];

    skip_where_chunks_are_short();
    trace_path(state, "folded.db", path, sizeof(path));
    for (size_t i = 0; i < sizeof(RUNS) / sizeof(RUNS[0]); i++) {
        char what[256];

        remove(path);
        snprintf(what, sizeof(what), "%s %s", RUNS[i][0], RUNS[i][1]);
        record(path, RUNS[i][0], RUNS[i][1], true);
        folded_compare(path, what);
    }
}

static void the_report_on_a_recording_that_was_cut_off_is_folded(void **state)
{
    char path[PATH_SIZE];

    skip_where_chunks_are_short();
    trace_path(state, "cut.db", path, sizeof(path));
    remove(path);
    record(path, "sample_nets/gpt2_small.py", "steps=26", false);
    folded_compare(path, "not complete");
}

/* Each event of each period is that of the period before, but for its time and its ids. */
static void what_repeats_is_the_same_event_for_event(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r = NULL;
    struct sto_repeat repeat;
    struct vs_event *events;
    uint64_t differ = 0;
    char path[PATH_SIZE];

    skip_where_chunks_are_short();
    trace_path(state, "repeat.db", path, sizeof(path));
    remove(path);
    record(path, "sample_nets/gpt2_small.py", "steps=26", true);
    ok(sto_reader_open(path, &r, &err), &err);
    ok(sto_repeat_find(r, &repeat, &err), &err);
    assert_true(repeat.count >= 3 && repeat.steps >= 1);
    events = vs_alloc(2 * (size_t)repeat.events * sizeof(*events));
    for (uint64_t p = 1; p < repeat.count; p++) {
        ok(sto_reader_events(r, repeat.first + (p - 1) * repeat.events, 2 * (size_t)repeat.events,
                             events, &err),
           &err);
        for (size_t i = 0; i < repeat.events; i++) {
            struct vs_event before = events[i];
            struct vs_event now = events[i + repeat.events];

            sto_repeat_shift(&now, repeat.limit, repeat.shift);
            before.time_ns = now.time_ns;
            if (now.kind == VS_EV_STEP)
                before.raw.a = now.raw.a;
            differ += memcmp(&before, &now, sizeof(now)) != 0;
        }
        assert_int_equal(differ, 0);
    }
    vs_free(events);
    sto_reader_close(r);
}

/* Where what a step allocates stays, each step begins with more than the one before: all events are read. */
static void a_trace_whose_steps_leak_is_not_folded(void **state)
{
    static const char NET[] = "import torch\n"
                              "import torch.nn as nn\n\n"
                              "kept = []\n\n\n"
                              "class Net(nn.Module):\n"
                              "    def __init__(self):\n"
                              "        super().__init__()\n"
                              "        self.fc = nn.Linear(64, 64)\n\n"
                              "    def forward(self, x):\n"
                              "        for i in range(1500):\n"
                              "            x = self.fc(x)\n"
                              "        kept.append(x.detach())\n"
                              "        return x\n\n\n"
                              "def model():\n"
                              "    return Net()\n\n\n"
                              "def batch(n):\n"
                              "    return torch.randn(n, 64), torch.randint(0, 64, (n,))\n\n\n"
                              "defaults = dict(batch=2)\n";
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_report report = {.trace = NULL};
    struct rpl_trace *trace = NULL;
    char path[PATH_SIZE];
    char net[PATH_SIZE];
    FILE *file;

    skip_where_chunks_are_short();
    trace_path(state, "leaks.py", net, sizeof(net));
    file = fopen(net, "w");
    assert_non_null(file);
    fputs(NET, file);
    fclose(file);
    trace_path(state, "leaks.db", path, sizeof(path));
    remove(path);
    record(path, net, "steps=12", true);
    derived_delete(path);
    ok(rpl_trace_open(path, &trace, &err), &err);
    assert_false(rpl_fold_report(&report, trace, 5));
    assert_null(report.trace);
    rpl_trace_free(trace);
}

/* A damaged file: the table of steps ends within those that repeat. */
static void a_trace_without_some_of_its_steps_is_not_folded(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_report report = {.trace = NULL};
    struct rpl_trace *trace = NULL;
    char path[PATH_SIZE];

    skip_where_chunks_are_short();
    trace_path(state, "steps.db", path, sizeof(path));
    remove(path);
    record(path, "sample_nets/gpt2_small.py", "steps=26", true);
    derived_delete(path);
    sql(path, "DELETE FROM step WHERE step > 6");
    ok(rpl_trace_open(path, &trace, &err), &err);
    assert_false(rpl_fold_report(&report, trace, 5));
    assert_null(report.trace);
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folded_report_equals_one_of_all_events),
        cmocka_unit_test(the_report_on_a_recording_that_was_cut_off_is_folded),
        cmocka_unit_test(what_repeats_is_the_same_event_for_event),
        cmocka_unit_test(a_trace_whose_steps_leak_is_not_folded),
        cmocka_unit_test(a_trace_without_some_of_its_steps_is_not_folded),
    };

    return cmocka_run_group_tests(tests, trace_folder_setup, trace_folder_teardown);
}
