/*
 * tests/store/test_trace.c - everything written by the writer is read back by the reader.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/dtype.h"
#include "base/mem.h"
#include "store/codec/codec.h"
#include "store/reader.h"
#include "store/writer.h"
#include "tests/store/phase_rows.h"
#include "tests/store/sample_events.h"
#include "tests/store/trace_file.h"

#define PHASES_MAX 16

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s: %s", vs_status_name(st), err->text);
}

static struct sto_writer *writer_open(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;

    ok(sto_writer_open(path, NULL, &w, &err), &err);
    return w;
}

static struct sto_reader *reader_open(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r;

    ok(sto_reader_open(path, &r, &err), &err);
    return r;
}

static void random_events_can_be_read_by_any_range(void **state)
{
    char path[4096];
    struct vs_error err = VS_ERROR_INIT;
    struct sample_random rnd = {4711};
    size_t count = 3 * STO_CHUNK_EVENTS_MAX / 2 + 77;
    struct vs_event *events = vs_alloc(count * sizeof(*events));
    struct vs_event *got = vs_alloc(count * sizeof(*got));
    struct sto_writer *w;
    struct sto_reader *r;

    trace_path(state, "wild.db", path, sizeof(path));
    sample_events_wild(&rnd, events, count);
    w = writer_open(path);
    for (size_t done = 0; done < count;) {
        size_t part = 1 + sample_random_below(&rnd, 9000);

        part = part < count - done ? part : count - done;
        ok(sto_writer_events(w, events + done, part, &err), &err);
        done += part;
        if (sample_random_below(&rnd, 3) == 0)
            ok(sto_writer_commit(w, &err), &err);
    }
    assert_int_equal(sto_writer_event_count(w), count);
    ok(sto_writer_close(w, true, &err), &err);

    r = reader_open(path);
    assert_true(sto_reader_is_complete(r));
    assert_int_equal(sto_reader_event_count(r), count);
    ok(sto_reader_events(r, 1, count, got, &err), &err);
    for (size_t i = 0; i < count; i++)
        assert_memory_equal(&got[i], &events[i], sizeof(got[i]));
    for (int i = 0; i < 200; i++) {
        uint64_t first = 1 + sample_random_below(&rnd, count);
        size_t n = (size_t)sample_random_below(&rnd, count + 2 - first) % 500;

        ok(sto_reader_events(r, first, n, got, &err), &err);
        assert_memory_equal(got, events + first - 1, n * sizeof(*got));
    }
    ok(sto_reader_events(r, count + 1, 0, got, &err), &err);
    sto_reader_close(r);
    vs_free(events);
    vs_free(got);
}

static void all_tables_but_events_are_read_back(void **state)
{
    static const struct vs_location locations[] = {{1, 2, 3, 14, 5}, {4, 0, UINT32_MAX, 0, 1}};
    static const struct vs_tensor_desc tensors[] = {
        {.block = 7,
         .id = 1,
         .name = 2,
         .dtype = VS_F16,
         .ndim = 4,
         .sizes = {64, 3, 7, 7},
         .strides = {147, 49, 7, 1}},
        {.block = 0, .id = 2, .dtype = VS_I64, .ndim = 0, .offset_elems = 12},
        {.block = 9,
         .id = 4,
         .dtype = VS_F32,
         .ndim = 8,
         .sizes = {1, 2, 3, 4, 5, 6, 7, INT64_MAX},
         .strides = {0, -1, INT64_MIN, 4, 3, 2, 1, 0}},
        {.block = 8,
         .id = 5,
         .dtype = VS_F16,
         .ndim = 4,
         .sizes = {64, 3, 7, 7},
         .strides = {147, 49, 7, 1}},
    };
    char path[4096];
    struct vs_error err = VS_ERROR_INIT;
    struct vs_tensor_desc got;
    struct sto_writer *w;
    struct sto_reader *r;
    struct sto_phase_stat phases[PHASES_MAX];

    w = writer_open(trace_path(state, "all.db", path, sizeof(path)));
    ok(sto_writer_meta_set(w, "net", "resnet", &err), &err);
    ok(sto_writer_meta_set(w, "net", "vgg", &err), &err);
    ok(sto_writer_source_add(w, "net.py", "class Net:\n    \xc3\xa9\n", &err), &err);
    ok(sto_writer_source_add(w, "a.py", "", &err), &err);
    ok(sto_writer_toggle_add(w, "inplace", "on", false, &err), &err);
    ok(sto_writer_toggle_add(w, "amp", "off", true, &err), &err);
    ok(sto_writer_string(w, 1, "", &err), &err);
    ok(sto_writer_string(w, 2, "layer1.0.conv1", &err), &err);
    for (uint32_t i = 0; i < 2; i++)
        ok(sto_writer_location(w, i + 1, &locations[i], &err), &err);
    for (int i = 0; i < 4; i++)
        ok(sto_writer_tensor(w, &tensors[i], &err), &err);
    ok(sto_writer_close(w, false, &err), &err);

    r = reader_open(path);
    assert_false(sto_reader_is_complete(r));
    assert_string_equal(sto_reader_path(r), path);
    assert_string_equal(sto_reader_meta(r, "net"), "vgg");
    assert_null(sto_reader_meta(r, "no such key"));
    assert_int_equal(sto_reader_source_count(r), 2);
    assert_string_equal(sto_reader_source_at(r, 0)->name, "net.py");
    assert_string_equal(sto_reader_source_at(r, 0)->text, "class Net:\n    \xc3\xa9\n");
    assert_string_equal(sto_reader_source_at(r, 1)->text, "");
    assert_int_equal(sto_reader_toggle_count(r), 2);
    assert_string_equal(sto_reader_toggle_at(r, 0)->name, "inplace");
    assert_string_equal(sto_reader_toggle_at(r, 0)->value, "on");
    assert_false(sto_reader_toggle_at(r, 0)->is_default);
    assert_true(sto_reader_toggle_at(r, 1)->is_default);
    assert_int_equal(sto_reader_string_count(r), 2);
    assert_string_equal(sto_reader_string(r, 2), "layer1.0.conv1");
    assert_string_equal(sto_reader_string(r, 0), "");
    assert_string_equal(sto_reader_string(r, 3), "");
    assert_int_equal(sto_reader_location_count(r), 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_memory_equal(sto_reader_location(r, i + 1), &locations[i], sizeof(locations[i]));
    assert_int_equal(sto_reader_location(r, 3)->line, 0);
    assert_int_equal(sto_reader_tensor_count(r), 5);
    for (int i = 0; i < 4; i++) {
        ok(sto_reader_tensor(r, tensors[i].id, &got, &err), &err);
        assert_int_equal(got.block, tensors[i].block);
        assert_int_equal(got.name, tensors[i].name);
        assert_int_equal(got.dtype, tensors[i].dtype);
        assert_int_equal(got.ndim, tensors[i].ndim);
        assert_int_equal(got.offset_elems, tensors[i].offset_elems);
        assert_memory_equal(got.sizes, tensors[i].sizes, sizeof(got.sizes));
        assert_memory_equal(got.strides, tensors[i].strides, sizeof(got.strides));
    }
    assert_int_equal(sto_reader_tensor(r, 3, &got, &err), VS_E_NOT_FOUND);
    assert_int_equal(sto_reader_event_count(r), 0);
    assert_int_equal(sto_reader_step_count(r), 0);
    assert_int_equal(phase_rows(r, phases, PHASES_MAX), 0);
    sto_reader_close(r);
}

static struct vs_event alloc_event(uint64_t block, uint64_t requested, uint64_t bytes)
{
    return (struct vs_event){
        .kind = VS_EV_ALLOC,
        .alloc = {.block = block, .requested_bytes = requested, .block_bytes = bytes}};
}

static struct vs_event free_event(uint64_t block, uint64_t requested, uint64_t bytes)
{
    return (struct vs_event){
        .kind = VS_EV_FREE,
        .free = {.block = block, .requested_bytes = requested, .block_bytes = bytes}};
}

static void steps_and_phases_are_kept_from_the_events(void **state)
{
    const struct vs_event events[] = {
        {.kind = VS_EV_SEGMENT_ALLOC, .segment = {.bytes = 4096}},   /* 1: setup */
        alloc_event(1, 100, 512),                                    /* 2 */
        {.kind = VS_EV_STEP, .step = {.number_plus_one = 1}},        /* 3: step 0 */
        {.kind = VS_EV_PHASE, .phase = {.phase = VS_PHASE_DATA}},    /* 4 */
        alloc_event(2, 700, 1024),                                   /* 5 */
        {.kind = VS_EV_PHASE, .phase = {.phase = VS_PHASE_FORWARD}}, /* 6 */
        alloc_event(3, 10, 512),                                     /* 7: 2048 live */
        free_event(3, 10, 512),                                      /* 8 */
        alloc_event(4, 20, 512),                                     /* 9: 2048 again */
        free_event(2, 700, 1024),                                    /* 10 */
        {.kind = VS_EV_STEP, .step = {.number_plus_one = 2}},        /* 11: step 1 */
        free_event(4, 20, 512), /* 12: before any phase event of its own */
    };
    static const struct sto_phase_stat wanted[] = {
        {-1, VS_PHASE_SETUP, 1, 2, 512, 512, 100, 100, 4096, 4096, 2},
        {0, VS_PHASE_DATA, 3, 5, 1536, 1536, 800, 800, 4096, 4096, 5},
        {0, VS_PHASE_FORWARD, 6, 10, 1024, 2048, 120, 820, 4096, 4096, 7},
        {1, VS_PHASE_FORWARD, 11, 12, 512, 1024, 100, 120, 4096, 4096, 11},
    };
    char path[4096];
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w;
    struct sto_reader *r;
    struct sto_phase_stat phases[PHASES_MAX];

    w = writer_open(trace_path(state, "steps.db", path, sizeof(path)));
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        ok(sto_writer_events(w, &events[i], 1, &err), &err);
        ok(sto_writer_commit(w, &err), &err);
    }
    ok(sto_writer_step(w, 0, 2.5, &err), &err);
    ok(sto_writer_step(w, 1, (double)NAN, &err), &err);
    ok(sto_writer_close(w, true, &err), &err);

    r = reader_open(path);
    assert_int_equal(phase_rows(r, phases, PHASES_MAX), 4);
    for (size_t i = 0; i < 4; i++) {
        const struct sto_phase_stat *got = &phases[i];

        assert_int_equal(got->step, wanted[i].step);
        assert_int_equal(got->phase, wanted[i].phase);
        assert_int_equal(got->first_seq, wanted[i].first_seq);
        assert_int_equal(got->last_seq, wanted[i].last_seq);
        assert_int_equal(got->allocated_end, wanted[i].allocated_end);
        assert_int_equal(got->allocated_peak, wanted[i].allocated_peak);
        assert_int_equal(got->requested_end, wanted[i].requested_end);
        assert_int_equal(got->requested_peak, wanted[i].requested_peak);
        assert_int_equal(got->reserved_end, wanted[i].reserved_end);
        assert_int_equal(got->reserved_peak, wanted[i].reserved_peak);
        assert_int_equal(got->peak_seq, wanted[i].peak_seq);
    }
    assert_int_equal(sto_reader_step_count(r), 3);
    assert_int_equal(sto_reader_step_at(r, 0)->step, -1);
    assert_true(isnan(sto_reader_step_at(r, 0)->loss));
    assert_int_equal(sto_reader_step_at(r, 1)->first_seq, 3);
    assert_int_equal(sto_reader_step_at(r, 1)->last_seq, 10);
    assert_true(sto_reader_step_at(r, 1)->loss == 2.5);
    assert_int_equal(sto_reader_step_at(r, 2)->last_seq, 12);
    assert_true(isnan(sto_reader_step_at(r, 2)->loss));
    sto_reader_close(r);
}

static void a_reader_keeps_one_state_while_the_writer_continues(void **state)
{
    char path[4096];
    struct vs_error err = VS_ERROR_INIT;
    struct sample_random rnd = {5};
    size_t count = 5000;
    struct vs_event *events = vs_alloc(count * sizeof(*events));
    struct vs_event got[100];
    struct sto_writer *w;
    struct sto_reader *r;

    sample_events_training(&rnd, events, count);
    w = writer_open(trace_path(state, "live.db", path, sizeof(path)));
    ok(sto_writer_events(w, events, 1000, &err), &err);
    ok(sto_writer_commit(w, &err), &err);
    r = reader_open(path);
    assert_false(sto_reader_is_complete(r));
    ok(sto_writer_events(w, events + 1000, count - 1000, &err), &err);
    ok(sto_writer_commit(w, &err), &err);
    assert_int_equal(sto_reader_event_count(r), 1000);
    ok(sto_reader_events(r, 901, 100, got, &err), &err);
    assert_memory_equal(got, events + 900, sizeof(got));
    ok(sto_writer_close(w, true, &err), &err);
    ok(sto_reader_events(r, 1, 100, got, &err), &err);
    assert_memory_equal(got, events, sizeof(got));
    sto_reader_close(r);
    r = reader_open(path);
    assert_int_equal(sto_reader_event_count(r), count);
    sto_reader_close(r);
    vs_free(events);
}

/* In the folder of the test, as such names have a meaning only without a folder before them. */
static void file_names_special_to_sqlite_are_plain_file_names(void **state)
{
    static const char *const names[] = {":memory:", "file:x?mode=memory", "with space%41"};
    char old[4096];

    assert_non_null(getcwd(old, sizeof(old)));
    assert_int_equal(chdir(*state), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct vs_error err = VS_ERROR_INIT;
        struct sto_writer *w = writer_open(names[i]);
        struct sto_reader *r;

        ok(sto_writer_meta_set(w, "net", names[i], &err), &err);
        ok(sto_writer_close(w, true, &err), &err);
        assert_int_equal(access(names[i], R_OK), 0);
        r = reader_open(names[i]);
        assert_string_equal(sto_reader_meta(r, "net"), names[i]);
        sto_reader_close(r);
    }
    assert_int_equal(chdir(old), 0);
}

static void locations_written_together_are_read_back_one_by_one(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_location locations[100];
    struct sto_writer *w;
    struct sto_reader *r;
    char path[4096];

    for (uint32_t i = 0; i < 100; i++)
        locations[i] = (struct vs_location){i % 7, i, 2 * i, UINT32_MAX - i, 3 * i};
    w = writer_open(trace_path(state, "places.db", path, sizeof(path)));
    ok(sto_writer_location(w, 1, &locations[0], &err), &err);
    ok(sto_writer_locations(w, 2, &locations[1], 98, &err), &err);
    ok(sto_writer_locations(w, 100, &locations[99], 1, &err), &err);
    ok(sto_writer_locations(w, 101, locations, 0, &err), &err);
    ok(sto_writer_close(w, true, &err), &err);
    r = reader_open(path);
    assert_int_equal(sto_reader_location_count(r), 100);
    for (uint32_t i = 0; i < 100; i++)
        assert_memory_equal(sto_reader_location(r, i + 1), &locations[i], sizeof(locations[i]));
    sto_reader_close(r);
}

/* A trace that cannot be renamed is whole under its own name, and its writer has failed. */
static void a_failed_rename_leaves_the_trace_under_its_name(void **state)
{
    char path[4096];
    char nowhere[4096 + 16];
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event event = {.kind = VS_EV_ALLOC, .alloc = {.block = 1, .block_bytes = 512}};
    struct sto_writer *w = writer_open(trace_path(state, "stays.db", path, sizeof(path)));
    struct sto_reader *r;

    snprintf(nowhere, sizeof(nowhere), "%s/x.db", path); /* a file is no folder */
    ok(sto_writer_events(w, &event, 1, &err), &err);
    assert_int_equal(sto_writer_move(w, nowhere, &err), VS_E_IO);
    assert_non_null(strstr(err.text, "cannot be renamed to"));
    assert_int_equal(sto_writer_events(w, &event, 1, &err), VS_E_IO);
    assert_int_equal(sto_writer_close(w, true, &err), VS_E_IO);
    r = reader_open(path);
    assert_int_equal(sto_reader_event_count(r), 1);
    sto_reader_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_events_can_be_read_by_any_range),
        cmocka_unit_test(all_tables_but_events_are_read_back),
        cmocka_unit_test(locations_written_together_are_read_back_one_by_one),
        cmocka_unit_test(steps_and_phases_are_kept_from_the_events),
        cmocka_unit_test(file_names_special_to_sqlite_are_plain_file_names),
        cmocka_unit_test(a_reader_keeps_one_state_while_the_writer_continues),
        cmocka_unit_test(a_failed_rename_leaves_the_trace_under_its_name),
    };

    return cmocka_run_group_tests_name("store/trace", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
