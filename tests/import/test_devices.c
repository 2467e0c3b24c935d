/*
 * tests/import/test_devices.c - a trace of several devices: each is read as if it were the only one. The three devices
 * are those of a published recording (tests/golden/alloc/expandable_3gpu_oom.*.txt).
 *
 * The three devices are those of a published recording (tests/golden/alloc/expandable_3gpu_oom.*.txt).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "import/importing.h"
#include "import/writing.h"
#include "recording/memlist.h"
#include "replay/report/report.h"
#include "replay/trace/trace.h"
#include "store/query.h"
#include "store/reader.h"
#include "tests/e2e/program.h"
#include "tests/engine/alloc_lists.h"
#include "tests/store/phase_rows.h"
#include "tests/store/trace_file.h"

#define DEVICES 3
#define PHASES_MAX 256

static void must(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s: %s", vs_status_name(st), err->text);
}

/* These devices of the recording, in order, as one trace; number of the list is that of the device. */
static void devices_import_of(const unsigned *numbers, size_t count, const char *to)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_memlist lists[DEVICES] = {{.events = NULL}};
    struct imp_import imports[DEVICES] = {{.events = NULL}};
    struct sto_writer *writer = NULL;

    for (size_t i = 0; i < count; i++) {
        char path[256];

        snprintf(path, sizeof(path), "%s/expandable_3gpu_oom.%u.txt", ALLOC_LISTS_DIR, numbers[i]);
        must(rec_memlist_read_whole(path, REC_SNAPSHOT_FIRST, &lists[i], &err), &err);
        lists[i].device = numbers[i];
        must(imp_make(&lists[i], &imports[i], &err), &err);
    }
    must(sto_writer_open(to, &(struct sto_writer_options){.force = true}, &writer, &err), &err);
    must(imp_write(imports, lists, count, "three devices", writer, &err), &err);
    must(sto_writer_close(writer, true, &err), &err);
    for (size_t i = 0; i < count; i++) {
        imp_release(&imports[i]);
        vs_memlist_release(&lists[i]);
    }
}

/* Devices first … last. */
static void devices_import(unsigned first, unsigned last, const char *to)
{
    static const unsigned NUMBERS[DEVICES] = {0, 1, 2};

    devices_import_of(NUMBERS + first, last - first + 1, to);
}

/* Which device of a trace is shown to who names none. */
static uint64_t device_shown(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    uint64_t device;

    must(rpl_trace_open(path, &trace, &err), &err);
    device = rpl_trace_device(trace, rpl_trace_device_now(trace));
    rpl_trace_free(trace);
    return device;
}

static const char *location_text(struct sto_reader *r, uint32_t id, struct vs_text *out)
{
    const struct vs_location *location = sto_reader_location(r, id);

    vs_text_clear(out);
    vs_text_addf(out, "%u %s %s %u %s", location->phase, sto_reader_string(r, location->module),
                 sto_reader_string(r, location->func), location->line,
                 sto_reader_string(r, location->op));
    return vs_text_get(out);
}

/* Every event, step, stretch of a phase and note of two readers. */
static void expect_same(struct sto_reader *a, struct sto_reader *b)
{
    static const char *const KEYS[] = {"recorded_events", "end_blocks", "capacity", "start_events",
                                       "steps_by"};
    struct sto_phase_stat p[PHASES_MAX], q[PHASES_MAX];
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text x = {NULL, 0, 0}, y = {NULL, 0, 0};
    size_t n;

    assert_int_equal(sto_reader_event_count(a), sto_reader_event_count(b));
    for (uint64_t seq = 1; seq <= sto_reader_event_count(a); seq++) {
        struct vs_event e, f;

        must(sto_reader_events(a, seq, 1, &e, &err), &err);
        must(sto_reader_events(b, seq, 1, &f, &err), &err);
        if (strcmp(location_text(a, e.location, &x), location_text(b, f.location, &y)) != 0)
            fail_msg("event %" PRIu64 ": %s, not %s", seq, vs_text_get(&y), vs_text_get(&x));
        e.location = f.location = 0;
        assert_memory_equal(&e, &f, sizeof(e));
    }
    assert_int_equal(sto_reader_step_count(a), sto_reader_step_count(b));
    for (size_t i = 0; i < sto_reader_step_count(a); i++)
        assert_int_equal(sto_reader_step_at(a, i)->last_seq, sto_reader_step_at(b, i)->last_seq);
    n = phase_rows(a, p, PHASES_MAX);
    assert_int_equal(phase_rows(b, q, PHASES_MAX), n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(p[i].first_seq, q[i].first_seq);
        assert_int_equal(p[i].peak_seq, q[i].peak_seq);
        assert_int_equal(p[i].allocated_peak, q[i].allocated_peak);
        assert_int_equal(p[i].requested_end, q[i].requested_end);
        assert_int_equal(p[i].reserved_end, q[i].reserved_end);
    }
    for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
        const char *value = sto_reader_meta(a, KEYS[i]);

        assert_string_equal(value ? value : "",
                            sto_reader_meta(b, KEYS[i]) ? sto_reader_meta(b, KEYS[i]) : "");
    }
    vs_text_release(&x);
    vs_text_release(&y);
}

static void each_device_reads_as_a_trace_of_its_own(void **state)
{
    char all[256], one[256], name[300];
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    trace_path(state, "all.db", all, sizeof(all));
    trace_path(state, "one.db", one, sizeof(one));
    devices_import(0, 2, all);
    for (unsigned i = 0; i < DEVICES; i++) {
        struct sto_reader *a = NULL, *b = NULL;

        devices_import(i, i, one);
        snprintf(name, sizeof(name), "%s@%u", all, i);
        must(sto_reader_open(one, &a, &err), &err);
        must(sto_reader_open(name, &b, &err), &err);
        assert_int_equal(sto_reader_device_count(a), 0);
        assert_int_equal(sto_reader_device_count(b), 3);
        assert_int_equal(sto_reader_device_now(b), i);
        assert_string_equal(sto_reader_meta(b, "device_number"), name + strlen(name) - 1);
        expect_same(a, b);
        must(sto_reader_refresh(b, &err), &err);
        expect_same(a, b);
        sto_reader_close(a);
        sto_reader_close(b);
    }
}

static void any_columns(void *user, size_t count, const char *const *names)
{
    (void)user;
    (void)names;
    assert_int_equal(count, 1);
}

static void number_keep(void *user, size_t count, const struct sto_value *values)
{
    assert_int_equal(count, 1);
    *(int64_t *)user = values[0].integer;
}

/* A device's name is good for SQL, too; the tables have all. */
static int64_t devices_in_tables(const char *name)
{
    struct vs_error err = VS_ERROR_INIT;
    int64_t count = 0;
    struct sto_query_sink sink = {.user = &count, .columns = any_columns, .row = number_keep};

    must(sto_query(name, "SELECT count(*) FROM device", &sink, &err), &err);
    return count;
}

/* Device 0 has 6445 of 7923 events, device 1 alone ran out of memory, device 2 has more events than that. */
static void the_device_shown_first_ran_out_of_memory_or_has_the_most_events(void **state)
{
    static const unsigned FIRST_AND_LAST[] = {0, 2};
    char all[256];

    (void)state;
    trace_path(state, "all.db", all, sizeof(all));
    devices_import(0, 2, all);
    assert_int_equal(device_shown(all), 1);
    devices_import(0, 1, all);
    assert_int_equal(device_shown(all), 1);
    devices_import(1, 2, all);
    assert_int_equal(device_shown(all), 1);
    devices_import_of(FIRST_AND_LAST, 2, all);
    assert_int_equal(device_shown(all), 0);
}

static void another_device_is_shown_on_request(void **state)
{
    char all[256], name[300];
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL, *other = NULL;

    (void)state;
    trace_path(state, "all.db", all, sizeof(all));
    devices_import(0, 2, all);
    must(rpl_trace_open(all, &trace, &err), &err);
    must(rpl_trace_open_device(trace, 2, &other, &err), &err);
    assert_int_equal(rpl_trace_device(other, rpl_trace_device_now(other)), 2);
    rpl_trace_free(other);
    rpl_trace_free(trace);
    snprintf(name, sizeof(name), "%s@2", all);
    assert_int_equal(devices_in_tables(name), 3);
    snprintf(name, sizeof(name), "%s@3", all);
    assert_int_equal(rpl_trace_open(name, &trace, &err), VS_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "the trace has no device 3"));
    snprintf(name, sizeof(name), "%s@x", all);
    assert_int_equal(rpl_trace_open(name, &trace, &err), VS_E_NOT_FOUND);
    assert_non_null(strstr(err.text, "@x: no such file"));
    /* a file that is called so is meant */
    snprintf(name, sizeof(name), "%s@1", all);
    devices_import(2, 2, name);
    must(rpl_trace_open(name, &trace, &err), &err);
    assert_int_equal(rpl_trace_device_count(trace), 0);
    assert_string_equal(rpl_trace_meta(trace, "device_number"), "2");
    rpl_trace_free(trace);
}

static void a_report_has_an_entry_for_each_device(void **state)
{
    char all[256];
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    struct rpl_report report = {.trace = NULL};
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    trace_path(state, "all.db", all, sizeof(all));
    devices_import(0, 2, all);
    must(rpl_trace_open(all, &trace, &err), &err);
    must(rpl_report_fill(&report, trace, 1, &err), &err);
    rpl_report_json(&report, &text);
    /* tests/golden/alloc/facts.tsv */
    assert_non_null(strstr(vs_text_get(&text), "\"device\": 0, \"events\": 6445, \"segments\": 2, "
                                               "\"blocks\": 544, \"reserved\": 8541700096"));
    assert_non_null(strstr(vs_text_get(&text), "\"device\": 1, \"events\": 596, \"segments\": 8"));
    assert_non_null(strstr(vs_text_get(&text), "\"peak_requested\": 21564645800"));
    vs_text_clear(&text);
    rpl_report_text(&report, "all.db", &text);
    assert_non_null(strstr(vs_text_get(&text), "\ndevice 1 of 0, 1, 2; TRACE@N is device N\n"));
    vs_text_release(&text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
}

static void an_inconsistent_device_row_is_refused(void **state)
{
    static const char *const CHANGES[] = {
        "UPDATE device SET last_seq = 999999 WHERE number = 2",
        "UPDATE device SET last_seq = 9 WHERE number = 1",
        "UPDATE device SET first_seq = 5 WHERE number = 1",
        "UPDATE device SET first_seq = 0 WHERE number = 0",
    };
    struct vs_error err = VS_ERROR_INIT;
    char all[256];

    (void)state;
    trace_path(state, "all.db", all, sizeof(all));
    for (size_t i = 0; i < sizeof(CHANGES) / sizeof(CHANGES[0]); i++) {
        struct sto_reader *r = NULL;

        devices_import(0, 2, all);
        sql_run(all, CHANGES[i]);
        assert_int_equal(sto_reader_open(all, &r, &err), VS_E_DAMAGED);
        assert_non_null(strstr(err.text, "a row of `device` makes no sense"));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_device_reads_as_a_trace_of_its_own, trace_folder_setup,
                                        trace_folder_teardown),
        cmocka_unit_test_setup_teardown(
            the_device_shown_first_ran_out_of_memory_or_has_the_most_events, trace_folder_setup,
            trace_folder_teardown),
        cmocka_unit_test_setup_teardown(another_device_is_shown_on_request, trace_folder_setup,
                                        trace_folder_teardown),
        cmocka_unit_test_setup_teardown(an_inconsistent_device_row_is_refused, trace_folder_setup,
                                        trace_folder_teardown),
        cmocka_unit_test_setup_teardown(a_report_has_an_entry_for_each_device, trace_folder_setup,
                                        trace_folder_teardown),
    };

    return cmocka_run_group_tests_name("import/devices", tests, NULL, NULL);
}
