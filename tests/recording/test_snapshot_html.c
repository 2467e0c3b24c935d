/*
 * tests/recording/test_snapshot_html.c - HTML pages that contain a snapshot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "recording/memlist.h"
#include "recording/snapshot_html.h"

/* As torch/cuda/_memory_viz.py writes it (2.15), around `base64`. */
#define PAGE(base64)                                                                               \
    "\n<!DOCTYPE html>\n<html>\n<head>\n</head>\n<body>\n<script type=\"module\">\n"               \
    "import {add_local_files} from \"https://…/MemoryViz.js\"\n"                                 \
    "const local_files = [{\"name\": \"snapshot.pickle\", \"base64\": \"" base64 "\"}]\n"          \
    "add_local_files(local_files, 'Active Memory Timeline')\n</script>\n</body>\n"

static enum vs_status unpack(const char *page, char **out, size_t *len, struct vs_error *err)
{
    *out = vs_strdup(page);
    return rec_html_unpack(*out, strlen(page), len, err);
}

static void expect_text(const char *page, const char *text)
{
    struct vs_error err = VS_ERROR_INIT;
    char *out;
    size_t len;

    if (unpack(page, &out, &len, &err))
        fail_msg("%s", err.text);
    assert_int_equal(len, strlen(text));
    assert_memory_equal(out, text, len + 1);
    vs_free(out);
}

static void expect_refused(const char *page, enum vs_status status, const char *why)
{
    struct vs_error err = VS_ERROR_INIT;
    char *out;
    size_t len;

    assert_int_equal(unpack(page, &out, &len, &err), status);
    if (!strstr(err.text, why))
        fail_msg("\"%s\" is not in: %s", why, err.text);
    vs_free(out);
}

/* RFC 4648, section 10 */
static void base64_is_decoded_with_and_without_padding(void **state)
{
    (void)state;
    expect_text(PAGE(""), "");
    expect_text(PAGE("Zg=="), "f");
    expect_text(PAGE("Zm8="), "fo");
    expect_text(PAGE("Zm9v"), "foo");
    expect_text(PAGE("Zm9vYg=="), "foob");
    expect_text(PAGE("Zm9vYmE"), "fooba");
    expect_text(PAGE("Zm9vYmFy"), "foobar");
    expect_text(PAGE("Pz8\\/"), "???"); /* 3f 3f 3f, with the slash as JSON may write it */
}

static void a_page_without_a_snapshot_is_refused(void **state)
{
    (void)state;
    expect_refused("<html></html>", VS_E_FORMAT, "this page holds no memory snapshot");
    expect_refused("<html>\"base64\" is a word", VS_E_FORMAT, "holds no memory snapshot");
    expect_refused(PAGE("Zm9!"), VS_E_FORMAT, "offset 189 of the page: invalid base64");
    expect_refused(PAGE("Zm9vY"), VS_E_FORMAT, "ends within a byte");
    expect_refused("<a>\"base64\": \"Zm9v", VS_E_FORMAT, "truncated inside the snapshot");
    expect_refused(PAGE("Zm9v\"}, {\"base64\": \"Zm9v"), VS_E_UNSUPPORTED, "several snapshots");
}

/* {"segments": []} in protocol 4 and the NULs that PyTorch adds: python3 -c 'import base64, pickle; …' */
static void the_snapshot_inside_an_html_page_is_read(void **state)
{
    static const char EMPTY[] = PAGE("gASVEQAAAAAAAAB9lIwIc2VnbWVudHOUXZRzLgAA");
    static const char OTHER[] = PAGE("Zm9vYmFy");
    struct vs_error err = VS_ERROR_INIT;
    struct vs_memlist list = {.events = NULL};
    char *text = vs_strdup(EMPTY);

    (void)state;
    assert_true(rec_html_is(EMPTY, strlen(EMPTY)));
    assert_false(rec_html_is("a<b", 3));
    if (rec_memlist_parse(text, strlen(EMPTY), REC_SNAPSHOT_FIRST, &list, &err))
        fail_msg("%s", err.text);
    assert_true(list.has_state);
    assert_int_equal(list.segment_count, 0);
    vs_free(text);
    vs_memlist_release(&list);
    text = vs_strdup(OTHER);
    assert_int_equal(rec_memlist_parse(text, strlen(OTHER), 0, &list, &err), VS_E_FORMAT);
    assert_non_null(strstr(err.text, "the page contains no memory snapshot"));
    vs_free(text);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(base64_is_decoded_with_and_without_padding),
        cmocka_unit_test(a_page_without_a_snapshot_is_refused),
        cmocka_unit_test(the_snapshot_inside_an_html_page_is_read),
    };

    return cmocka_run_group_tests_name("recording/snapshot_html", tests, NULL, NULL);
}
