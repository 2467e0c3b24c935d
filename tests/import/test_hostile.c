/*
 * tests/import/test_hostile.c - snapshots with a wrong value in every field, and truncated at every length: the result
 * is an error that names the field or the place, or a consistent trace.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "import/partial.h"
#include "recording/memlist.h"
#include "tests/import/sense.h"

/* ---- a snapshot as a pickle, with one value replaced ---- */

/*
 * key    of a dict; "" ends the dict that was begun last
 * value  what is pickled for it; NULL: a list or dict begins with `open`
 */
struct field {
    const char *key;
    const char *open;
    const char *value;
    size_t len;
};
#define VALUE(key, bytes)                                                                          \
    {                                                                                              \
        key, NULL, bytes, sizeof(bytes) - 1                                                        \
    }
#define OPEN(key, open)                                                                            \
    {                                                                                              \
        key, open, NULL, 0                                                                         \
    }
#define CLOSE(close)                                                                               \
    {                                                                                              \
        NULL, NULL, close, sizeof(close) - 1                                                       \
    }

/* 2 MiB and 4 KiB in BININT, an address in LONG1, short texts in SHORT_BINUNICODE (only in protocol 4). */
#define MIB2 "J\x00\x00\x20\x00"
#define KIB4 "J\x00\x10\x00\x00"
#define ADDRESS "\x8a\x06\x00\x00\x00\x00\x00\x70"
#define FRAME                                                                                      \
    OPEN("", "}("), VALUE("name", "\x8c\x04step"), VALUE("filename", "\x8c\x08train.py"),          \
        VALUE("line", "K\x07"), CLOSE("u")

/* A segment with a block in use, and the events that led to it, an out-of-memory and notes. */
static const struct field FIELDS[] = {
    OPEN("segments", "]("),
    OPEN("", "}("),
    VALUE("device", "K\x00"),
    VALUE("address", ADDRESS),
    VALUE("total_size", MIB2),
    VALUE("allocated_size", KIB4),
    VALUE("stream", "K\x00"),
    VALUE("segment_type", "\x8c\x05small"),
    VALUE("segment_pool_id", "K\x00K\x00\x86"),
    VALUE("is_expandable", "\x89"),
    OPEN("frames", "]("),
    FRAME,
    CLOSE("e"),
    OPEN("blocks", "]("),
    OPEN("", "}("),
    VALUE("address", ADDRESS),
    VALUE("size", KIB4),
    VALUE("requested_size", "M\xa0\x0f"),
    VALUE("state", "\x8c\x10"
                   "active_allocated"),
    OPEN("frames", "]("),
    FRAME,
    CLOSE("e"),
    CLOSE("u"),
    OPEN("", "}("),
    VALUE("size", "J\x00\xf0\x1f\x00"),
    VALUE("requested_size", "K\x00"),
    VALUE("state", "\x8c\x08inactive"),
    CLOSE("u"),
    CLOSE("e"),
    CLOSE("u"),
    CLOSE("e"),
    OPEN("device_traces", "]("),
    OPEN("", "]("),
    OPEN("", "}("),
    VALUE("action", "\x8c\x0dsegment_alloc"),
    VALUE("addr", ADDRESS),
    VALUE("size", MIB2),
    VALUE("stream", "K\x00"),
    VALUE("time_us", "K\x01"),
    CLOSE("u"),
    OPEN("", "}("),
    VALUE("action", "\x8c\x05"
                    "alloc"),
    VALUE("addr", ADDRESS),
    VALUE("size", "M\xa0\x0f"),
    VALUE("stream", "K\x00"),
    VALUE("time_us", "K\x02"),
    OPEN("frames", "]("),
    FRAME,
    CLOSE("e"),
    VALUE("user_metadata", "\x8c\x04text"),
    CLOSE("u"),
    OPEN("", "}("),
    VALUE("action", "\x8c\x03oom"),
    VALUE("device_free", MIB2),
    VALUE("size", MIB2),
    VALUE("stream", "K\x00"),
    VALUE("time_us", "K\x03"),
    CLOSE("u"),
    CLOSE("e"),
    CLOSE("e"),
    OPEN("allocator_settings", "}("),
    VALUE("PYTORCH_CUDA_ALLOC_CONF", "\x8c\x00"),
    CLOSE("u"),
    OPEN("external_annotations", "]("),
    OPEN("", "}("),
    VALUE("name", "\x8c\x01n"),
    VALUE("stage", "\x8c\x05START"),
    VALUE("device", "K\x00"),
    VALUE("time_us", "K\x01"),
    CLOSE("u"),
    CLOSE("e"),
};
#define FIELD_COUNT (sizeof(FIELDS) / sizeof(FIELDS[0]))

/* What no recorder writes there. */
static const struct field WRONG[] = {
    VALUE("None", "N"),
    VALUE("true", "\x88"),
    VALUE("a text", "\x8c\x01x"),
    VALUE("-1", "J\xff\xff\xff\xff"),
    VALUE("0", "K\x00"),
    VALUE("1", "K\x01"),
    VALUE("2^63 - 1", "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"),
    VALUE("-2^63", "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"),
    VALUE("2^64 - 1", "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"),
    VALUE("2^120", "\x8a\x10\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"),
    VALUE("a float", "G\x7f\xf8\x00\x00\x00\x00\x00\x00"),
    VALUE("a list", "]"),
    VALUE("a dict", "}"),
    VALUE("a tuple", ")"),
    VALUE("a list of itself", "]2a"),
};
#define WRONG_COUNT (sizeof(WRONG) / sizeof(WRONG[0]))

static void key_add(struct vs_text *out, const char *key)
{
    if (!*key)
        return;
    vs_text_add(out, "\x8c");
    vs_text_add_char(out, (char)strlen(key));
    vs_text_add(out, key);
}

/* Past the field and all that it holds. */
static size_t field_end(size_t at)
{
    int depth = 0;

    do {
        if (FIELDS[at].open)
            depth++;
        else if (!FIELDS[at].key)
            depth--;
        at++;
    } while (depth > 0);
    return at;
}

/* The snapshot, with `wrong` (NULL: nothing) in place of field `at`. */
static void snapshot_make(struct vs_text *out, size_t at, const struct field *wrong)
{
    vs_text_clear(out);
    vs_text_add(out, "\x80\x04}(");
    for (size_t i = 0; i < FIELD_COUNT;) {
        const struct field *field = &FIELDS[i];

        if (field->key)
            key_add(out, field->key);
        if (wrong && i == at) {
            vs_text_add_n(out, wrong->value, wrong->len);
            i = field_end(i);
        } else {
            if (field->open)
                vs_text_add(out, field->open);
            else
                vs_text_add_n(out, field->value, field->len);
            i++;
        }
    }
    vs_text_add(out, "u.");
}

/* ---- what comes of it ---- */

enum outcome { IS_REFUSED, IS_PARTIAL, IS_WHOLE };

/* Read and import any bytes; what is refused says why, what is not makes sense. */
static enum outcome bytes_import(const char *bytes, size_t len, struct vs_error *err)
{
    struct vs_memlist list = {.events = NULL};
    struct imp_import import = {.events = NULL};
    char *text = vs_alloc(len + 1);
    enum outcome outcome = IS_REFUSED;

    memcpy(text, bytes, len);
    text[len] = '\0';
    err->text[0] = '\0';
    if (rec_memlist_parse(text, len, REC_SNAPSHOT_FIRST, &list, err)) {
        if (!err->text[0])
            fail_msg("refused without a word");
    } else if (imp_make(&list, &import, err)) {
        imp_release(&import);
        imp_make_partial(&list, err->text, &import);
        sense_check(&import);
        outcome = IS_PARTIAL;
    } else {
        sense_check(&import);
        outcome = IS_WHOLE;
    }
    imp_release(&import);
    vs_memlist_release(&list);
    vs_free(text);
    return outcome;
}

/* What a refusal must name: the field; of a list or dict, it or what was looked for in it. */
static void check_named(const struct field *field, const struct field *wrong,
                        const struct vs_error *err)
{
    const char *name = field->open ? "`" : field->key;

    /* notes are refused as a whole */
    if (!strstr(err->text, name) && !strstr(err->text, "external_annotations"))
        fail_msg("%s in place of %s is refused, but not by name: %s", wrong->key, field->key,
                 err->text);
}

static void a_wrong_value_in_any_field_is_refused_or_imported_consistently(void **state)
{
    size_t outcomes[IS_WHOLE + 1] = {0};
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        for (size_t k = 0; k < WRONG_COUNT && FIELDS[i].key; k++) {
            struct vs_error err = VS_ERROR_INIT;
            enum outcome outcome;

            snapshot_make(&text, i, &WRONG[k]);
            outcome = bytes_import(vs_text_get(&text), text.len, &err);
            outcomes[outcome]++;
            if (outcome == IS_REFUSED)
                check_named(&FIELDS[i], &WRONG[k], &err);
        }
    }
    vs_text_release(&text);
    print_message("%zu refused, %zu in part, %zu whole\n", outcomes[IS_REFUSED],
                  outcomes[IS_PARTIAL], outcomes[IS_WHOLE]);
    assert_true(outcomes[IS_REFUSED] > 100 && outcomes[IS_PARTIAL] > 20 && outcomes[IS_WHOLE] > 20);
}

static void an_undamaged_snapshot_is_imported_completely(void **state)
{
    struct vs_text text = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    snapshot_make(&text, 0, NULL);
    if (bytes_import(vs_text_get(&text), text.len, &err) != IS_WHOLE)
        fail_msg("%s", err.text);
    vs_text_release(&text);
}

/* Without events the block is older than the recording; its stack is in the final state. */
static void a_pre_existing_block_keeps_its_location(void **state)
{
    static const struct field none = VALUE("no events", "]");
    struct vs_memlist list = {.events = NULL};
    struct imp_import import = {.events = NULL};
    struct vs_text text = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_location *location;
    size_t at = 0;

    (void)state;
    while (!FIELDS[at].key || strcmp(FIELDS[at].key, "device_traces") != 0)
        at++;
    snapshot_make(&text, at, &none);
    if (rec_snapshot_read(vs_text_get(&text), text.len, REC_SNAPSHOT_FIRST, &list, &err) ||
        imp_make(&list, &import, &err))
        fail_msg("%s", err.text);
    assert_int_equal(import.event_count, 2);
    assert_int_equal(import.start_events, 2);
    assert_int_equal(import.events[1].kind, VS_EV_ALLOC);
    assert_int_equal(import.events[1].location, 1);
    location = &import.locations[0];
    assert_string_equal(import.strings[location->func - 1], "train.py:step");
    assert_int_equal(location->line, 7);
    imp_release(&import);
    vs_memlist_release(&list);
    vs_text_release(&text);
}

/* Newer versions and forks have kinds of their own; the other events define what the allocator did. */
static void events_of_unknown_kinds_are_counted(void **state)
{
    static const struct field annotate = VALUE("unknown", "\x8c\x08"
                                                          "annotate");
    struct vs_memlist list = {.events = NULL};
    struct vs_text text = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    size_t at = 0;

    (void)state;
    while (!FIELDS[at].value || FIELDS[at].len < 5 ||
           memcmp(FIELDS[at].value, "\x8c\x03oom", 5) != 0)
        at++;
    snapshot_make(&text, at, &annotate);
    if (rec_snapshot_read(vs_text_get(&text), text.len, REC_SNAPSHOT_FIRST, &list, &err))
        fail_msg("%s", err.text);
    assert_int_equal(list.event_count, 2);
    assert_int_equal(list.other_count, 1);
    vs_memlist_release(&list);
    vs_text_release(&text);
}

static void negative_sizes_are_refused_with_the_events_number(void **state)
{
    static const struct field minus = VALUE("-4096", "J\x00\xf0\xff\xff");
    struct vs_text text = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    size_t sizes = 0;

    (void)state;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (!FIELDS[i].key ||
            (strcmp(FIELDS[i].key, "size") != 0 && strcmp(FIELDS[i].key, "total_size") != 0))
            continue;
        snapshot_make(&text, i, &minus);
        assert_int_equal(bytes_import(vs_text_get(&text), text.len, &err), IS_REFUSED);
        assert_true(strstr(err.text, "segment 0: ") || strstr(err.text, " of device 0: "));
        assert_non_null(strstr(err.text, "size`"));
        sizes++;
    }
    assert_int_equal(sizes, 6);
    vs_text_release(&text);
}

/* One that was published: 5 events, 2 segments, 79 blocks. */
static void a_truncated_snapshot_is_refused_at_any_length(void **state)
{
    gzFile file = gzopen("tests/golden/snapshots/nca_custom_kernel_step.pickle.gz", "rb");
    char *bytes = vs_alloc(1 << 16);
    int len;

    (void)state;
    assert_non_null(file);
    len = gzread(file, bytes, 1 << 16);
    gzclose(file);
    assert_int_equal(len, 17497);
    for (int cut = 0; cut < len; cut++) {
        struct vs_error err = VS_ERROR_INIT;

        if (bytes_import(bytes, (size_t)cut, &err) != IS_REFUSED)
            fail_msg("cut off after %d bytes it was read", cut);
    }
    vs_free(bytes);
}

/* Each byte of the small one as each of a few others: whatever it then is, it is refused or makes sense. */
static void a_changed_byte_is_refused_or_imported_consistently(void **state)
{
    static const unsigned char OTHERS[] = {0x00, 0x01, 0x28, 0x2e, 0x30, 0x32, 0x61, 0x65,
                                           0x68, 0x6a, 0x75, 0x7f, 0x80, 0x86, 0x94, 0xff};
    struct vs_text text = {NULL, 0, 0};
    char *bytes;

    (void)state;
    snapshot_make(&text, 0, NULL);
    bytes = vs_alloc(text.len);
    for (size_t i = 0; i < text.len; i++) {
        memcpy(bytes, vs_text_get(&text), text.len);
        for (size_t k = 0; k < sizeof(OTHERS); k++) {
            struct vs_error err = VS_ERROR_INIT;

            bytes[i] = (char)OTHERS[k];
            (void)bytes_import(bytes, text.len, &err);
        }
    }
    vs_free(bytes);
    vs_text_release(&text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_undamaged_snapshot_is_imported_completely),
        cmocka_unit_test(a_wrong_value_in_any_field_is_refused_or_imported_consistently),
        cmocka_unit_test(a_pre_existing_block_keeps_its_location),
        cmocka_unit_test(events_of_unknown_kinds_are_counted),
        cmocka_unit_test(negative_sizes_are_refused_with_the_events_number),
        cmocka_unit_test(a_truncated_snapshot_is_refused_at_any_length),
        cmocka_unit_test(a_changed_byte_is_refused_or_imported_consistently),
    };

    return cmocka_run_group_tests_name("import/hostile", tests, NULL, NULL);
}
