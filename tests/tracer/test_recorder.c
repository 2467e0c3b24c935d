/*
 * tests/tracer/test_recorder.c - what an observer receives is in the trace; errors are reported at the end.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "base/mem.h"
#include "store/reader.h"
#include "tests/store/sample_events.h"
#include "tests/store/trace_file.h"
#include "tests/wait.h"
#include "tracer/recorder.h"

#define PATH_SIZE 4096

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s: %s", vs_status_name(st), err->text);
}

static struct trc_recorder *recorder_open(const char *path, size_t ring_slots, uint32_t commit_ms)
{
    const struct trc_recorder_options options = {.ring_slots = ring_slots, .commit_ms = commit_ms};
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder *rec;

    ok(trc_recorder_open(path, &options, &rec, &err), &err);
    return rec;
}

static struct sto_reader *reader_open(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r;

    ok(sto_reader_open(path, &r, &err), &err);
    return r;
}

/* A tensor whose every member follows from its id. */
static struct vs_tensor_desc tensor_of(uint32_t id)
{
    struct vs_tensor_desc desc = {.block = id * UINT64_C(3),
                                  .id = id,
                                  .name = id % 7,
                                  .dtype = VS_F32,
                                  .ndim = (uint8_t)(id % (VS_MAX_DIMS + 1)),
                                  .offset_elems = id % 5};

    for (uint32_t i = 0; i < desc.ndim; i++) {
        desc.sizes[i] = id % 11 + i;
        desc.strides[i] = id % 13 * (i + 1);
    }
    return desc;
}

static struct vs_event event_of(uint64_t i, uint32_t location)
{
    return (struct vs_event){.kind = (uint8_t)(i % VS_EVENT_KIND_COUNT),
                             .raw = {.a = i,
                                     .b = i * i,
                                     .c = i / 3,
                                     .d = i << 9,
                                     .e = (uint32_t)i,
                                     .aux = (uint8_t)(i % 3)},
                             .location = location};
}

static void emit_events(const struct eng_observer *obs, uint64_t first, uint64_t count)
{
    char text[32];

    for (uint64_t i = first; i < first + count; i++) {
        struct vs_location location = {.line = (uint32_t)(i % 100)};
        struct vs_event event;

        snprintf(text, sizeof(text), "module%d", (int)(i % 50));
        location.module = obs->string(obs->user, text);
        event = event_of(i, obs->location(obs->user, &location));
        if (i % 4 == 0) {
            struct vs_tensor_desc desc = tensor_of((uint32_t)(i / 4 + 1));

            obs->tensor(obs->user, &desc);
        }
        obs->emit(obs->user, &event);
    }
}

static void emitted_check(struct sto_reader *r, uint64_t count)
{
    struct vs_error err = VS_ERROR_INIT;
    uint64_t last_time = 0;
    char text[32];

    for (uint64_t i = 0; i < count; i++) {
        struct vs_event got;
        struct vs_event wanted;
        const struct vs_location *location;

        ok(sto_reader_events(r, i + 1, 1, &got, &err), &err);
        assert_true(got.time_ns >= last_time);
        last_time = got.time_ns;
        wanted = event_of(i, got.location);
        wanted.time_ns = got.time_ns;
        assert_memory_equal(&got, &wanted, sizeof(got));
        location = sto_reader_location(r, got.location);
        assert_int_equal(location->line, i % 100);
        snprintf(text, sizeof(text), "module%d", (int)(i % 50));
        assert_string_equal(sto_reader_string(r, location->module), text);
        if (i % 4 == 0) {
            struct vs_tensor_desc desc = tensor_of((uint32_t)(i / 4 + 1));
            struct vs_tensor_desc tensor;

            ok(sto_reader_tensor(r, desc.id, &tensor, &err), &err);
            assert_int_equal(tensor.block, desc.block);
            assert_int_equal(tensor.name, desc.name);
            assert_int_equal(tensor.offset_elems, desc.offset_elems);
            assert_int_equal(tensor.ndim, desc.ndim);
            assert_memory_equal(tensor.sizes, desc.sizes, sizeof(desc.sizes));
            assert_memory_equal(tensor.strides, desc.strides, sizeof(desc.strides));
        }
    }
}

static void record_and_check(void **state, const char *name, size_t ring_slots, uint64_t count)
{
    char path[PATH_SIZE];
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder_stats stats;
    struct trc_recorder *rec =
        recorder_open(trace_path(state, name, path, sizeof(path)), ring_slots, 20);
    struct sto_reader *r;

    emit_events(trc_recorder_observer(rec), 0, count);
    trc_recorder_stats(rec, &stats);
    assert_int_equal(stats.events, count);
    assert_false(stats.failed);
    ok(trc_recorder_close(rec, true, &err), &err);
    r = reader_open(path);
    assert_true(sto_reader_is_complete(r));
    assert_int_equal(sto_reader_event_count(r), count);
    emitted_check(r, count);
    sto_reader_close(r);
}

static void emitted_events_are_in_the_trace(void **state)
{
    record_and_check(state, "emitted.db", 0, 50000);
}

static void a_ring_that_is_always_full_loses_nothing(void **state)
{
    record_and_check(state, "tiny_ring.db", 2, 2000);
    record_and_check(state, "small_ring.db", 16, 20000);
}

static void metadata_and_losses_are_written_with_the_events(void **state)
{
    char path[PATH_SIZE];
    char text[] = "value";
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder *rec =
        recorder_open(trace_path(state, "facts.db", path, sizeof(path)), 0, 0);
    const struct eng_observer *obs = trc_recorder_observer(rec);
    struct sto_reader *r;

    trc_recorder_meta_set(rec, "net", text);
    strcpy(text, "?????"); /* it was copied */
    trc_recorder_source_add(rec, "net.py", "class Net: ...\n");
    trc_recorder_toggle_add(rec, "amp", "bf16", false);
    for (uint64_t step = 0; step < 3; step++) {
        obs->emit(obs->user,
                  &(struct vs_event){.kind = VS_EV_STEP, .step = {.number_plus_one = step + 1}});
        trc_recorder_step(rec, (int64_t)step, 0.5 * (double)step);
    }
    ok(trc_recorder_close(rec, false, &err), &err);
    r = reader_open(path);
    assert_false(sto_reader_is_complete(r));
    assert_string_equal(sto_reader_meta(r, "net"), "value");
    assert_string_equal(sto_reader_source_at(r, 0)->text, "class Net: ...\n");
    assert_string_equal(sto_reader_toggle_at(r, 0)->value, "bf16");
    assert_false(sto_reader_toggle_at(r, 0)->is_default);
    assert_int_equal(sto_reader_step_count(r), 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(sto_reader_step_at(r, i)->loss == 0.5 * (double)i);
    sto_reader_close(r);
}

static void a_file_that_exists_is_reported_at_the_start(void **state)
{
    char path[PATH_SIZE];
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder *rec =
        recorder_open(trace_path(state, "twice.db", path, sizeof(path)), 0, 0);

    ok(trc_recorder_close(rec, true, &err), &err);
    assert_int_equal(trc_recorder_open(path, NULL, &rec, &err), VS_E_EXISTS);
    assert_null(rec);
    assert_int_equal(trc_recorder_close(NULL, true, &err), VS_OK);
}

static void a_full_disk_is_reported_at_the_end_of_the_run(void **state)
{
    char path[PATH_SIZE];
    struct rlimit old;
    struct rlimit tight = {300000, 300000};
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder_stats stats;
    struct trc_recorder *rec =
        recorder_open(trace_path(state, "full.db", path, sizeof(path)), 256, 5);
    struct sto_reader *r;
    uint64_t count = 0;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    do {
        emit_events(trc_recorder_observer(rec), count, 1000);
        count += 1000;
        trc_recorder_stats(rec, &stats);
    } while (!stats.failed && count < 10000000);
    assert_true(stats.failed);
    emit_events(trc_recorder_observer(rec), count, 5000);
    trc_recorder_meta_set(rec, "late", "fact");
    assert_int_equal(trc_recorder_close(rec, true, &err), VS_E_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_non_null(strstr(err.text, path));
    r = reader_open(path);
    assert_false(sto_reader_is_complete(r));
    assert_true(sto_reader_event_count(r) < count);
    emitted_check(r, sto_reader_event_count(r));
    sto_reader_close(r);
}

/* In a child: record without end, and regularly write the number of events emitted to `out`. */
static void record_until_killed(const char *path, int out)
{
    const struct trc_recorder_options options = {.commit_ms = 1};
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder *rec;
    uint64_t count = 0;

    if (trc_recorder_open(path, &options, &rec, &err))
        _exit(3);
    for (;;) {
        emit_events(trc_recorder_observer(rec), count, 100);
        count += 100;
        if (write(out, &count, sizeof(count)) != sizeof(count))
            _exit(4);
    }
}

static void kill_and_check(const char *path, uint64_t after)
{
    int ends[2];
    uint64_t emitted = 0;
    struct sto_reader *r;
    pid_t child;
    int status;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        record_until_killed(path, ends[1]);
    }
    close(ends[1]);
    wait_begin("a recording child to emit events");
    while (emitted < after)
        assert_int_equal(read(ends[0], &emitted, sizeof(emitted)), sizeof(emitted));
    assert_int_equal(kill(child, SIGKILL), 0);
    status = wait_child(child, "the killed child to end");
    assert_true(WIFSIGNALED(status));
    while (read(ends[0], &emitted, sizeof(emitted)) == sizeof(emitted))
        ;
    wait_end();
    close(ends[0]);
    r = reader_open(path);
    assert_false(sto_reader_is_complete(r));
    assert_true(sto_reader_event_count(r) <= emitted + 100);
    emitted_check(r, sto_reader_event_count(r));
    sto_reader_close(r);
}

static void a_recorder_killed_at_any_time_leaves_a_prefix_of_the_events(void **state)
{
    char path[PATH_SIZE];
    char name[32];
    struct sample_random rnd = {20240229};

    for (int round = 0; round < 12; round++) {
        snprintf(name, sizeof(name), "killed%d.db", round);
        trace_path(state, name, path, sizeof(path));
        kill_and_check(path, sample_random_below(&rnd, 30000));
    }
}

/*
 * Though the next one by itself would come in 49 days: longer than most machines have been up, so no reading of the
 * clock makes it due.
 */
static void an_explicit_commit_writes_everything(void **state)
{
    char path[PATH_SIZE];
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder *rec =
        recorder_open(trace_path(state, "asked.db", path, sizeof(path)), 0, UINT32_MAX);

    for (uint64_t emitted = 0; emitted < 3000; emitted += 1000) {
        struct sto_reader *r;

        emit_events(trc_recorder_observer(rec), emitted, 1000);
        trc_recorder_commit(rec);
        r = reader_open(path);
        assert_int_equal(sto_reader_event_count(r), emitted + 1000);
        emitted_check(r, emitted + 1000);
        sto_reader_close(r);
    }
    ok(trc_recorder_close(rec, true, &err), &err);
}

static void commits_happen_periodically_while_events_arrive(void **state)
{
    char path[PATH_SIZE];
    struct vs_error err = VS_ERROR_INIT;
    struct trc_recorder *rec =
        recorder_open(trace_path(state, "live.db", path, sizeof(path)), 0, 1);
    struct wait w = wait_for(0, "1,000 events to be committed");
    uint64_t there = 0;

    emit_events(trc_recorder_observer(rec), 0, 1000);
    while (there < 1000) {
        struct sto_reader *r = reader_open(path);

        there = sto_reader_event_count(r);
        emitted_check(r, there);
        sto_reader_close(r);
        if (there < 1000)
            wait_more(&w);
    }
    assert_int_equal(there, 1000);
    ok(trc_recorder_close(rec, true, &err), &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(emitted_events_are_in_the_trace),
        cmocka_unit_test(a_ring_that_is_always_full_loses_nothing),
        cmocka_unit_test(metadata_and_losses_are_written_with_the_events),
        cmocka_unit_test(a_file_that_exists_is_reported_at_the_start),
        cmocka_unit_test(a_full_disk_is_reported_at_the_end_of_the_run),
        cmocka_unit_test(a_recorder_killed_at_any_time_leaves_a_prefix_of_the_events),
        cmocka_unit_test(an_explicit_commit_writes_everything),
        cmocka_unit_test(commits_happen_periodically_while_events_arrive),
    };

    return cmocka_run_group_tests_name("tracer/recorder", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
