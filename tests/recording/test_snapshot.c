/*
 * tests/recording/test_snapshot.c - PyTorch's memory snapshots as our reader has them, against CPython's reading of
 * the same files.
 *
 * tests/golden/snapshots holds some published ones (tests/golden/alloc/facts.tsv says of what); the compact lists of
 * tests/golden/alloc were made of the same files in Python. With a folder as its argument the program looks at every
 * snapshot there:
 *
 *     build/tests/recording/test_snapshot FOLDER
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "recording/memlist.h"
#include "recording/snapshot.h"

static const char *folder = "tests/golden/snapshots";

static void must(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s: %s", vs_status_name(st), err->text);
}

static void check_events(const char *name, const struct vs_memlist *a, const struct vs_memlist *b)
{
    assert_int_equal(a->event_count, b->event_count);
    for (size_t i = 0; i < a->event_count; i++) {
        const struct vs_mem_event *x = &a->events[i];
        const struct vs_mem_event *y = &b->events[i];

        /* the compact list keeps no stream of a moment that is not the allocator's */
        if (x->kind != y->kind || x->bytes != y->bytes || x->cls != y->cls ||
            x->address != y->address || (x->kind != VS_MEM_SNAPSHOT && x->stream != y->stream))
            fail_msg("%s, event %zu: %s of %llu bytes, %s; the list has %s of %llu bytes, %s", name,
                     i, vs_mem_kind_name((enum vs_mem_kind)x->kind), (unsigned long long)x->bytes,
                     vs_mem_class_name((enum vs_mem_class)x->cls),
                     vs_mem_kind_name((enum vs_mem_kind)y->kind), (unsigned long long)y->bytes,
                     vs_mem_class_name((enum vs_mem_class)y->cls));
    }
}

static void check_state(const struct vs_memlist *a, const struct vs_memlist *b)
{
    assert_int_equal(a->segment_count, b->segment_count);
    assert_int_equal(a->block_count, b->block_count);
    for (size_t i = 0; i < a->segment_count; i++) {
        const struct vs_mem_segment *x = &a->segments[i];
        const struct vs_mem_segment *y = &b->segments[i];

        assert_int_equal(x->address, y->address);
        assert_int_equal(x->bytes, y->bytes);
        assert_int_equal(x->stream, y->stream);
        assert_int_equal(x->pool_graph, y->pool_graph);
        assert_int_equal(x->pool_user, y->pool_user);
        assert_int_equal(x->is_small, y->is_small);
        assert_int_equal(x->is_expandable, y->is_expandable);
        assert_int_equal(x->block_count, y->block_count);
        for (size_t j = 0; j < x->block_count; j++) {
            const struct vs_mem_block *u = &a->blocks[x->first_block + j];
            const struct vs_mem_block *v = &b->blocks[y->first_block + j];

            assert_int_equal(u->bytes, v->bytes);
            assert_int_equal(u->requested, v->requested);
            assert_int_equal(u->state, v->state);
        }
    }
}

/* One device of one file; false where the list of that device does not exist. */
static bool check_device(const char *path, const char *name, int64_t device)
{
    struct vs_memlist snapshot = {.events = NULL};
    struct vs_memlist list = {.events = NULL};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text list_path = {NULL, 0, 0};
    enum vs_status st;

    vs_text_addf(&list_path, "tests/golden/alloc/%s.%d.txt", name, (int)device);
    st = rec_memlist_read(vs_text_get(&list_path), -1, &list, &err);
    vs_text_release(&list_path);
    if (st == VS_E_NOT_FOUND) {
        vs_memlist_release(&list);
        return false;
    }
    must(st, &err);
    /* of nothing at all there is no device to choose */
    must(rec_memlist_read(path, list.event_count || list.segment_count ? device : -1, &snapshot,
                          &err),
         &err);
    check_events(name, &snapshot, &list);
    check_state(&snapshot, &list);
    assert_string_equal(snapshot.conf ? snapshot.conf : "", list.conf);
    print_message("%s, device %d: %zu events, %zu segments, %zu blocks\n", name, (int)device,
                  snapshot.event_count, snapshot.segment_count, snapshot.block_count);
    vs_memlist_release(&snapshot);
    vs_memlist_release(&list);
    return true;
}

static void snapshots_are_read_as_cpython_reads_them(void **state)
{
    char pattern[512];
    glob_t found;

    (void)state;
    snprintf(pattern, sizeof(pattern), "%s/*.pickle.gz", folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        char name[128];
        unsigned devices = 0;

        snprintf(name, sizeof(name), "%s", strrchr(path, '/') + 1);
        *strstr(name, ".pickle.gz") = '\0';
        for (int64_t device = 0; device < 8; device++)
            devices += check_device(path, name, device);
        assert_true(devices > 0);
    }
    globfree(&found);
}

static void events_have_their_source_locations(void **state)
{
    struct vs_memlist list = {.events = NULL};
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_mem_event *norm = NULL;

    (void)state;
    must(rec_memlist_read("tests/golden/snapshots/lm4_forward_ctx100.pickle.gz", -1, &list, &err),
         &err);
    for (size_t i = 0; i < list.event_count && !norm; i++)
        if (strcmp(vs_memlist_text(&list, list.events[i].op), "mean_dim") == 0)
            norm = &list.events[i];
    assert_non_null(norm);
    assert_int_equal(norm->kind, VS_MEM_ALLOC);
    assert_int_equal(norm->bytes, 4000);
    assert_string_equal(vs_memlist_text(&list, norm->file), "rmsnorn.py");
    assert_string_equal(vs_memlist_text(&list, norm->func), "forward");
    assert_int_equal(norm->line, 29);
    vs_memlist_release(&list);
}

/* ---- what is no snapshot ---- */

static void check_refused(const char *bytes, size_t len, enum vs_status status, const char *says)
{
    struct vs_memlist list = {.events = NULL};
    struct vs_error err = VS_ERROR_INIT;

    assert_int_equal(rec_snapshot_read(bytes, len, -1, &list, &err), status);
    if (!strstr(err.text, says))
        fail_msg("says: %s; should: %s", err.text, says);
    vs_memlist_release(&list);
}
#define CHECK_REFUSED(bytes, status, says) check_refused(bytes, sizeof(bytes) - 1, status, says)

static void wrong_types_are_refused_with_the_fields_name(void **state)
{
    (void)state;
    CHECK_REFUSED("\x80\x02N.", VS_E_FORMAT, "not a memory snapshot");
    CHECK_REFUSED("\x80\x02}.", VS_E_FORMAT, "not a memory snapshot");
    CHECK_REFUSED("\x80\x02}U\x08segmentsNs.", VS_E_FORMAT, "not a memory snapshot");
    CHECK_REFUSED("\x80\x02}(U\x08segments]U\x0d"
                  "device_tracesNu.",
                  VS_E_FORMAT, "`device_traces`");
    CHECK_REFUSED("\x80\x02]Na.", VS_E_FORMAT, "a segment: `address`");
    CHECK_REFUSED("\x80\x02]}U\x07"
                  "addressNsa.",
                  VS_E_FORMAT, "a segment: `address`");
    CHECK_REFUSED("\x80\x02]}(U\x07"
                  "addressK\x01U\x0atotal_sizeK\x01ua.",
                  VS_E_FORMAT, "a segment: `blocks`");
    CHECK_REFUSED("\x80\x02]}(U\x07"
                  "addressK\x01U\x0atotal_sizeK\x01U\x06"
                  "blocks]}U\x04sizeK\x01saua.",
                  VS_E_FORMAT, "a block: `state`");
    CHECK_REFUSED("\x80\x02}(U\x08segments]U\x0d"
                  "device_traces](](}U\x06"
                  "actionK\x01seeu.",
                  VS_E_FORMAT, "an event: `action`");
    CHECK_REFUSED("\x80\x02}(U\x08segments]U\x0d"
                  "device_traces](](}U\x06"
                  "actionU\x05"
                  "allocseeu.",
                  VS_E_FORMAT, "an event: `addr`");
}

/* Memo 0 is a stack that is marked as one at the first event, and stands among its own frames at the second. */
/* What pickle.dumps({"segments": []}, protocol) begins with, for 0 to 5, and a list; what texts begin with. */
static void a_pickle_is_distinguished_from_text_by_its_first_bytes(void **state)
{
    static const char *const PICKLES[] = {"(dp0\nVsegments", "}q\x01X",      "\x80\x02}q",
                                          "\x80\x03}q",      "\x80\x04\x95", "\x80\x05\x95",
                                          "(lp0\n.",         "]q\x01."};
    static const char *const TEXTS[] = {
        "kind,bytes\n", "# a list\n", "<html>", "\"kind\"", "vramscope allocator list 1\n", "",
        "\x80\x06}"};

    (void)state;
    for (size_t i = 0; i < sizeof(PICKLES) / sizeof(PICKLES[0]); i++)
        assert_true(rec_snapshot_is(PICKLES[i], strlen(PICKLES[i])));
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++)
        assert_false(rec_snapshot_is(TEXTS[i], strlen(TEXTS[i])));
    assert_false(rec_snapshot_is("\0\0\0", 3));
}

static void malformed_frames_give_no_location(void **state)
{
    static const char bytes[] = "\x80\x02}(U\x08segments]U\x0d"
                                "device_traces](](}(U\x06"
                                "actionU\x05"
                                "allocU\x04"
                                "addrK\x01U\x04sizeK\x01U\x06"
                                "frames]q\x00u}(U\x06"
                                "actionU\x05"
                                "allocU\x04"
                                "addrK\x02U\x04sizeK\x01U\x06"
                                "frames](h\x00K\x07Neueeu.";
    struct vs_memlist list = {.events = NULL};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    must(rec_snapshot_read(bytes, sizeof(bytes) - 1, -1, &list, &err), &err);
    assert_int_equal(list.event_count, 2);
    assert_int_equal(list.events[1].op, 0);
    assert_int_equal(list.events[1].line, 0);
    vs_memlist_release(&list);
}

/* A frame of a stack, as pickle.dumps(…, 0) writes it. */
#define FRAME(func, file, line) "(dVname\nV" func "\nsVfilename\nV" file "\nsVline\nI" line "\nsa"
#define RECORDER "/tmp/vramscope-record-abcdef/vramscope_values.py"
#define OPS "/p/site-packages/torch/_ops.py"

/* A function of the recorder stands in for one of the program's operators: neither it nor the call of an operator in it
 * is part of the stack, but the program's own call of an operator is. */
static void functions_of_the_recorder_are_left_out_of_stacks(void **state)
{
    static const char bytes[] =
        "(dVsegments\n(lsVdevice_traces\n(l(l("
        "dVaction\nValloc\nsVaddr\nI4096\nsVsize\nI8\nsVframes\n(l" FRAME("__call__", OPS, "3")
            FRAME("compute", RECORDER, "5") FRAME("__call__", OPS, "7")
                FRAME("step", "train.py", "9") "saas.";
    struct vs_memlist list = {.events = NULL};
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_callstack *stack;

    (void)state;
    must(rec_snapshot_read(bytes, sizeof(bytes) - 1, -1, &list, &err), &err);
    assert_int_equal(list.event_count, 1);
    assert_string_equal(vs_memlist_text(&list, list.events[0].file), "train.py");
    assert_int_equal(list.events[0].line, 9);
    stack = vs_callstacks_get(&list.stacks, list.events[0].stack);
    assert_int_equal(stack->count, 2);
    assert_int_equal(vs_callstacks_at(&list.stacks, stack, 0)->line, 7);
    assert_int_equal(vs_callstacks_at(&list.stacks, stack, 1)->line, 9);
    vs_memlist_release(&list);
}

/*
 * One event, repeated ten thousand times by reference: each takes two bytes in the file, so without a bound the list
 * would be much larger than the file.
 */
static void events_repeated_by_reference_beyond_the_bound_are_refused(void **state)
{
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    vs_text_add(&text, "\x80\x02}(U\x08segments]U\x0d"
                       "device_traces](](}(U\x06"
                       "actionU\x05"
                       "allocU\x04"
                       "addrK\x01U\x04sizeK\x01uq\x05");
    for (int i = 0; i < 1000; i++)
        vs_text_add(&text, "h\x05");
    vs_text_add(&text, "eq\x06");
    vs_text_add(&text, "e"); /* device 0 */
    vs_text_add(&text, "u.");
    {
        struct vs_memlist list = {.events = NULL};
        struct vs_error err = VS_ERROR_INIT;

        must(rec_snapshot_read(vs_text_get(&text), text.len, -1, &list, &err), &err);
        assert_int_equal(list.event_count, 1001);
        vs_memlist_release(&list);
    }
    vs_text_clear(&text);
    /* a segment of a thousand blocks, a thousand times */
    vs_text_add(&text, "\x80\x02](}(U\x07"
                       "addressK\x01U\x0atotal_sizeK\x01U\x06"
                       "blocks](}(U\x04sizeK\x01U\x05stateU\x08inactiveuq\x05");
    for (int i = 0; i < 1000; i++)
        vs_text_add(&text, "h\x05");
    vs_text_add(&text, "euq\x06");
    for (int i = 0; i < 1000; i++)
        vs_text_add(&text, "h\x06");
    vs_text_add(&text, "e.");
    check_refused(vs_text_get(&text), text.len, VS_E_FORMAT, "repeat their items");
    vs_text_release(&text);
}

static void a_snapshot_of_several_devices_needs_a_device_number(void **state)
{
    static const char path[] = "tests/golden/snapshots/two_gpu_state_only.pickle.gz";
    static const char none[] = "tests/golden/snapshots/nca_custom_kernel_step.pickle.gz";
    struct vs_memlist list = {.events = NULL};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    must(rec_memlist_read(path, -1, &list, &err), &err); /* the table has only device 0 of it */
    vs_memlist_release(&list);
    assert_int_equal(rec_memlist_read(none, 3, &list, &err), VS_E_VALUE);
    assert_non_null(strstr(err.text, "no data of device 3"));
    vs_memlist_release(&list);
    CHECK_REFUSED("\x80\x02](}(U\x06"
                  "deviceK\x01u}(U\x06"
                  "deviceK\x02ue.",
                  VS_E_VALUE, "choose one of 1, 2");
}

/* Two texts attached to events, and a range given out of order. */
static void annotations_are_in_order_of_time(void **state)
{
    static const char bytes[] =
        "\x80\x02}(U\x08segments]U\x0d"
        "device_traces](](}(U\x06"
        "actionU\x05"
        "allocU\x04"
        "addrK\x01U\x04sizeK\x01U\x07time_usK\x05U\x0duser_metadataU\x01"
        "au}(U\x06"
        "actionU\x05"
        "allocU\x04"
        "addrK\x02U\x04sizeK\x01U\x07time_usK\x09U\x0duser_metadataU\x00uee"
        "U\x14"
        "external_annotations](}(U\x04nameU\x01rU\x05stageU\x03"
        "ENDU\x07time_usK\x08u}(U\x04nameU\x01rU\x05stageU\x05STARTU\x07time_usK\x02ueu.";
    static const struct {
        uint64_t time_us;
        const char *name;
        bool is_end;
    } EXPECTED[] = {{2, "r", false}, {5, "a", false}, {8, "r", true}, {9, "a", true}};
    struct vs_memlist list = {.events = NULL};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    must(rec_snapshot_read(bytes, sizeof(bytes) - 1, -1, &list, &err), &err);
    assert_int_equal(list.note_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(list.notes[i].time_us, EXPECTED[i].time_us);
        assert_string_equal(vs_memlist_text(&list, list.notes[i].name), EXPECTED[i].name);
        assert_int_equal(list.notes[i].is_end, EXPECTED[i].is_end);
    }
    vs_memlist_release(&list);
    CHECK_REFUSED("\x80\x02}(U\x08segments]U\x14"
                  "external_annotations](Neu.",
                  VS_E_FORMAT, "`external_annotations`");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshots_are_read_as_cpython_reads_them),
        cmocka_unit_test(events_have_their_source_locations),
        cmocka_unit_test(a_pickle_is_distinguished_from_text_by_its_first_bytes),
        cmocka_unit_test(malformed_frames_give_no_location),
        cmocka_unit_test(functions_of_the_recorder_are_left_out_of_stacks),
        cmocka_unit_test(wrong_types_are_refused_with_the_fields_name),
        cmocka_unit_test(events_repeated_by_reference_beyond_the_bound_are_refused),
        cmocka_unit_test(a_snapshot_of_several_devices_needs_a_device_number),
        cmocka_unit_test(annotations_are_in_order_of_time),
    };

    if (argc > 1)
        folder = argv[1];
    return cmocka_run_group_tests_name("recording/snapshot", tests, NULL, NULL);
}
