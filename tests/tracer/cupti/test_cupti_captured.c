/*
 * tests/tracer/cupti/test_cupti_captured.c - kept CUPTI records give the same sums as when they were recorded.
 *
 * Those of tests/golden/cupti/ were captured on a GPU, where there are any. made_up_records.txt was not: it is what
 * the simulated CUPTI gave, kept so that a change of the format is seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/work.h"
#include "tests/skip.h"
#include "tests/store/trace_file.h"
#include "tests/tracer/cupti/captured.h"
#include "tests/tracer/cupti/fake_cupti.h"
#include "tracer/cupti/cupti_session_internal.h"
#include "tracer/recorder.h"

#define MADE_UP "tests/tracer/cupti/made_up_records.txt"
#define GOLDEN "tests/golden/cupti"

#ifndef VS_CUPTI

static void replaying_cupti_needs_its_headers(void **state)
{
    (void)state;
    tests_skip("CUPTI's headers are not there");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(replaying_cupti_needs_its_headers)};

    return cmocka_run_group_tests_name("tracer/cupti_captured", tests, NULL, NULL);
}

#else

static uint64_t total(const struct captured *captured, const char *name)
{
    for (size_t i = 0; i < captured->total_count; i++)
        if (strcmp(captured->totals[i].name, name) == 0)
            return captured->totals[i].value;
    fail_msg("the records do not say `total %s`: were they cut off?", name);
    return 0;
}

/* Replays the file, and compares each total with the trace. */
static struct captured replayed(void **state, const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct captured captured;
    struct sto_reader *r;
    char trace[4096];

    trace_path(state, "replayed.db", trace, sizeof(trace));
    captured_play(path, trace, &captured);
    assert_true(captured.buffers > 0 && captured.records > 0);
    assert_true(captured.total_count >= 14);
    if (sto_reader_open(trace, &r, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < captured.total_count; i++) {
        const char *got = sto_reader_meta(r, captured.totals[i].name);
        char wanted[24];

        snprintf(wanted, sizeof(wanted), "%" PRIu64, captured.totals[i].value);
        if (!got || strcmp(got, wanted) != 0)
            fail_msg("%s: %s is %s, and was %s", path, captured.totals[i].name,
                     got ? got : "not there", wanted);
    }
    sto_reader_close(r);
    return captured;
}

static void recorded_cupti_activity_gives_the_stored_sums(void **state)
{
    DIR *dir = opendir(GOLDEN);
    struct dirent *entry;
    size_t files = 0;

    while (dir && (entry = readdir(dir)) != NULL) {
        struct captured captured;
        char path[4096];

        if (entry->d_name[0] == '.' || !strstr(entry->d_name, ".txt"))
            continue;
        snprintf(path, sizeof(path), GOLDEN "/%s", entry->d_name);
        captured = replayed(state, path);
        assert_true(total(&captured, "cupti_kernels") > 0);
        assert_int_equal(total(&captured, "cupti_unknown"), 0);
        assert_int_equal(total(&captured, "cupti_untied"), 0);
        files++;
    }
    if (dir)
        closedir(dir);
    if (!files)
        tests_skip("no records of a real GPU are kept in tests/golden yet");
}

static void synthetic_cupti_activity_gives_the_stored_sums(void **state)
{
    struct captured captured = replayed(state, MADE_UP);

    assert_int_equal(captured.version, 130001);
    assert_int_equal(total(&captured, "cupti_kernels"), 4);
    assert_int_equal(total(&captured, "cupti_cut"), 1);
    assert_int_equal(total(&captured, "cupti_dropped"), 2);
    assert_int_equal(total(&captured, "cupti_foreign"), 2);
}

/* A run that is watched by the simulated CUPTI, a little of everything. */
static void run_and_keep(void **state, const char *path)
{
    const CUpti_ActivityKind odd[4] = {(CUpti_ActivityKind)240};
    struct trc_recorder_options options = {.force = true, .beside = trc_cupti_write};
    struct vs_error err = VS_ERROR_INIT;
    const struct eng_observer *observer;
    struct trc_recorder *rec;
    struct trc_cupti *c;
    char trace[4096];

    trace_path(state, "kept.db", trace, sizeof(trace));
    setenv("VRAMSCOPE_CUPTI_RECORDS", path, 1);
    fake_cupti_begin(FAKE_CUPTI_COUNT, 0, CUPTI_SUCCESS);
    assert_int_equal(trc_cupti_open_with(fake_cupti_api(), &c, &err), VS_OK);
    unsetenv("VRAMSCOPE_CUPTI_RECORDS");
    options.beside_user = c;
    assert_int_equal(trc_recorder_open(trace, &options, &rec, &err), VS_OK);
    observer = trc_cupti_observer(c, trc_recorder_observer(rec));
    fake_cupti_copy(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 4096, 50);
    observer->emit(observer->user, &(struct vs_event){.kind = VS_EV_OP_BEGIN});
    trc_cupti_asked(c, true, 0x7f0000000000, 2097152);
    fake_cupti_malloc(0x7f0000000000, 2097152);
    fake_cupti_malloc(0x7f1000000000, 512);
    fake_cupti_launch("ampere_sgemm_128x64_tn", 1000);
    fake_cupti_launch("_ZN6native4reluEPf", 200);
    fake_cupti_record(odd, FAKE_CUPTI_ODD_BYTES);
    fake_cupti_fill(64, 5);
    trc_cupti_created(c, 2097152);
    fake_cupti_create(2097152, CUDA_SUCCESS);
    fake_cupti_create(4096, CUDA_SUCCESS);
    fake_cupti_launch("a kernel", 7);
    fake_cupti_launch("cut off", 9);
    fake_cupti_launch("cut off", 9);
    fake_cupti_cut(8);
    fake_cupti_drop(2);
    fake_cupti_deliver(FAKE_NEWEST_FIRST);
    observer->emit(observer->user, &(struct vs_event){.kind = VS_EV_OP_END});
    fake_cupti_free(0x7f0000000000, 2097152);
    trc_cupti_asked(c, false, 0x7f0000000000, 0);
    trc_cupti_stop(c);
    assert_int_equal(trc_recorder_close(rec, true, &err), VS_OK);
    trc_cupti_close(c);
}

static void kept_cupti_records_can_be_replayed(void **state)
{
    char path[4096];

    trace_path(state, "kept.txt", path, sizeof(path));
    run_and_keep(state, path);
    replayed(state, path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_cupti_activity_gives_the_stored_sums),
        cmocka_unit_test(synthetic_cupti_activity_gives_the_stored_sums),
        cmocka_unit_test(kept_cupti_records_can_be_replayed),
    };

    return cmocka_run_group_tests_name("tracer/cupti_captured", tests, trace_folder_setup,
                                       trace_folder_teardown);
}

#endif
