/*
 * tests/store/faults/test_lost_writes.c - a disk that says that data are on it when they are not, and then loses power:
 * of the pages that a commit wrote some are there and some are not. What is left is read as it was written, or refused.
 *
 * A trace is copied after two commits; pages of the one are put among those of the other, chosen by a generator with a
 * fixed seed, and the journal is lost.
 */
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
#include "store/reader.h"
#include "store/writer.h"
#include "tests/store/sample_events.h"
#include "tests/store/trace_file.h"

#define PATH_SIZE 4096
#define PAGE 4096
#define EVENTS_PER_COMMIT 3000
#define COMMITS 4
#define EVENTS (COMMITS * EVENTS_PER_COMMIT)
#define ROUNDS 400

static struct vs_event events[EVENTS];
static struct vs_event got[EVENTS];

/* A file as it was after a commit. */
struct image {
    unsigned char *bytes;
    size_t len;
};

static struct image image_read(const char *path)
{
    struct image image = {NULL, 0};
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    image.len = (size_t)ftell(file);
    rewind(file);
    image.bytes = vs_alloc(image.len);
    assert_int_equal(fread(image.bytes, 1, image.len, file), image.len);
    fclose(file);
    return image;
}

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

/* Write a trace, and copy it after each commit and when it is complete. */
static void trace_write(const char *path, struct image images[COMMITS + 1])
{
    const struct vs_location location = {.line = 7, .func = 1};
    const struct vs_tensor_desc tensor = {.id = 1, .block = 1, .dtype = VS_F32, .ndim = 1};
    struct vs_error err = VS_ERROR_INIT;
    struct sto_writer *w = NULL;

    ok(sto_writer_open(path, &(struct sto_writer_options){.force = true}, &w, &err), &err);
    ok(sto_writer_string(w, 1, "Net.forward", &err), &err);
    ok(sto_writer_location(w, 1, &location, &err), &err);
    ok(sto_writer_tensor(w, &tensor, &err), &err);
    for (size_t i = 0; i < COMMITS; i++) {
        ok(sto_writer_events(w, events + i * EVENTS_PER_COMMIT, EVENTS_PER_COMMIT, &err), &err);
        ok(sto_writer_commit(w, &err), &err);
        images[i] = image_read(path);
    }
    ok(sto_writer_close(w, true, &err), &err);
    images[COMMITS] = image_read(path);
}

/* The later file, of which each page may be that of the earlier one, or zeros where that was shorter. */
static void mixed_write(const char *path, const struct image *earlier, const struct image *later,
                        struct sample_random *rnd)
{
    const uint64_t lost = 1 + sample_random_below(rnd, 4); /* of so many in 5 */
    FILE *file = fopen(path, "wb");
    static unsigned char zeros[PAGE];

    assert_non_null(file);
    for (size_t at = 0; at < later->len; at += PAGE) {
        const size_t len = later->len - at < PAGE ? later->len - at : PAGE;
        const unsigned char *bytes = later->bytes + at;

        if (sample_random_below(rnd, 5) < lost)
            bytes = at + len <= earlier->len ? earlier->bytes + at : zeros;
        assert_int_equal(fwrite(bytes, 1, len, file), len);
    }
    fclose(file);
}

/* Whether the file was read; what was read is what was written. */
static bool is_read(const char *path, uint32_t round)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sto_reader *r = NULL;
    enum vs_status st = sto_reader_open(path, &r, &err);
    uint64_t count = 0;

    if (!st) {
        count = sto_reader_event_count(r);
        if (count > EVENTS)
            fail_msg("round %u: %llu events", (unsigned)round, (unsigned long long)count);
        st = count ? sto_reader_events(r, 1, (size_t)count, got, &err) : VS_OK;
    }
    if (st && !strstr(err.text, path))
        fail_msg("round %u: %s: %s", (unsigned)round, vs_status_name(st), err.text);
    if (!st && memcmp(got, events, (size_t)count * sizeof(*got)) != 0)
        fail_msg("round %u: events that were never written", (unsigned)round);
    sto_reader_close(r);
    return !st;
}

static void pages_that_were_never_written_are_noticed(void **state)
{
    struct image images[COMMITS + 1];
    char path[PATH_SIZE];
    char mixed[PATH_SIZE];
    struct sample_random rnd = {20};
    unsigned read = 0;

    sample_events_training(&rnd, events, EVENTS);
    trace_write(trace_path(state, "whole.db", path, sizeof(path)), images);
    trace_path(state, "mixed.db", mixed, sizeof(mixed));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const size_t later = 1 + (size_t)sample_random_below(&rnd, COMMITS);

        mixed_write(mixed, &images[sample_random_below(&rnd, later)], &images[later], &rnd);
        read += is_read(mixed, round);
        unlink(mixed);
    }
    assert_true(read < ROUNDS);
    for (size_t i = 0; i <= COMMITS; i++)
        vs_free(images[i].bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_that_were_never_written_are_noticed),
    };

    return cmocka_run_group_tests(tests, trace_folder_setup, trace_folder_teardown);
}
