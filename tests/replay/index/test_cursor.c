/*
 * tests/replay/index/test_cursor.c - seeking compared with reading from the start: in a file, in memory, and with a
 * stored index.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "replay/index/cursor.h"
#include "replay/index/index_internal.h"
#include "replay/index/walk.h"
#include "replay/state/state.h"
#include "replay/trace/trace_internal.h"
#include "tests/replay/make_trace.h"
#include "tests/replay/random_trace.h"
#include "tests/store/trace_file.h"

/* Enough for an index to be stored, and for some chunks. */
#define EVENTS (RPL_STORE_EVENTS + RPL_CHUNK_EVENTS / 2)

static void ok(enum vs_status st, const struct vs_error *err)
{
    if (st)
        fail_msg("%s", err->text);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Everything that a cursor says, in an order that does not depend on how it got there. The caller frees it. */
static char *picture(const struct rpl_live *live, const struct rpl_held *held, size_t held_count,
                     const struct rpl_segment *segments, size_t segment_count)
{
    size_t count = live->block_count + held_count;
    char **rows = vs_calloc(count + 1, sizeof(*rows));
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = 0; i < live->block_count; i++) {
        const struct rpl_block *b = &live->blocks[i];
        struct vs_text row = {NULL, 0, 0};

        vs_text_addf(&row, "block %llu %llu %llu %llx %llu %llu %u %u %u %u %u\n",
                     (unsigned long long)b->id, (unsigned long long)b->requested,
                     (unsigned long long)b->bytes, (unsigned long long)b->address,
                     (unsigned long long)b->alloc_seq, (unsigned long long)b->last_use_seq,
                     b->tensor, b->alloc_location, b->last_use_location, b->saves, b->category);
        rows[i] = vs_text_take(&row);
    }
    for (size_t i = 0; i < held_count; i++) {
        const struct rpl_holder *h = &held[i].holder;
        struct vs_text row = {NULL, 0, 0};

        vs_text_addf(&row, "held %llu %d %llu %u %u %u %u %llu\n",
                     (unsigned long long)held[i].block, (int)h->kind,
                     (unsigned long long)h->since_seq, h->tensor, h->name, h->scope, h->location,
                     (unsigned long long)h->node);
        rows[live->block_count + i] = vs_text_take(&row);
    }
    qsort(rows, count, sizeof(*rows), by_bytes);
    for (size_t i = 0; i < count; i++) {
        vs_text_add(&text, rows[i]);
        vs_free(rows[i]);
    }
    vs_free(rows);
    for (size_t i = 0; i < segment_count; i++)
        vs_text_addf(&text, "segment %llx %llu %d %d\n", (unsigned long long)segments[i].address,
                     (unsigned long long)segments[i].bytes, segments[i].is_small,
                     segments[i].is_mapped);
    vs_text_addf(&text, "%llu %llu %llu %llu %lld %d %zu\n", (unsigned long long)live->allocated,
                 (unsigned long long)live->requested, (unsigned long long)live->reserved,
                 (unsigned long long)live->segments, (long long)live->step, (int)live->phase,
                 live->recompute_depth);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++)
        vs_text_addf(&text, "%llu ", (unsigned long long)live->by_category[i]);
    for (size_t i = 0; i < live->open_count; i++)
        vs_text_addf(&text, "open %llu %d ", (unsigned long long)live->open[i].seq,
                     live->open[i].is_recompute);
    return vs_text_take(&text);
}

static char *cursor_picture(const struct rpl_cursor *cursor)
{
    size_t held_count;
    size_t segment_count;
    const struct rpl_held *held = rpl_cursor_held(cursor, &held_count);
    const struct rpl_segment *segments = rpl_cursor_segments(cursor, &segment_count);

    return picture(rpl_cursor_live(cursor), held, held_count, segments, segment_count);
}

/* The plain model: every event from the start. */
static char *model_picture(struct rpl_trace *trace, uint64_t seq)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct rpl_state state;
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *event;
    char *text;

    rpl_state_init(&state);
    if (seq) {
        rpl_scan_init(scan, trace, 1, seq);
        while ((event = rpl_scan_next(scan, &err)) != NULL)
            ok(rpl_state_apply(&state, event, &err), &err);
    }
    text = picture(&state.live, state.holders.items, state.holders.count, state.segments,
                   state.segment_count);
    rpl_state_release(&state);
    vs_free(scan);
    return text;
}

static void assert_at(struct rpl_cursor *cursor, struct rpl_trace *model, uint64_t seq)
{
    struct vs_error err = VS_ERROR_INIT;
    char *got;
    char *wanted;

    ok(rpl_cursor_seek(cursor, seq, &err), &err);
    assert_int_equal(rpl_cursor_seq(cursor), seq);
    got = cursor_picture(cursor);
    wanted = model_picture(model, seq);
    if (strcmp(got, wanted) != 0)
        fail_msg("after event %llu: got\n%s\nwanted\n%s", (unsigned long long)seq, got, wanted);
    vs_free(got);
    vs_free(wanted);
}

/* Far jumps, short ways in both directions, and the borders of chunks. */
static void assert_seeks(struct rpl_index *index, struct rpl_trace *model)
{
    struct rpl_cursor *cursor = rpl_cursor_new(index);
    uint64_t count = rpl_index_event_count(index);
    uint32_t random = 12345;

    assert_at(cursor, model, count);
    assert_at(cursor, model, 0);
    for (int i = 0; i < 8; i++) {
        uint64_t seq;

        random = random * 1664525 + 1013904223;
        seq = (random >> 4) % (count + 1);
        assert_at(cursor, model, seq);
        assert_at(cursor, model, seq < count ? seq + 1 : seq);
        assert_at(cursor, model, seq);
        assert_at(cursor, model, seq > 3 ? seq - 3 : 0);
        seq = seq / RPL_CHUNK_EVENTS * RPL_CHUNK_EVENTS;
        assert_at(cursor, model, seq);
        assert_at(cursor, model, seq ? seq - 1 : 0);
        assert_at(cursor, model, seq + 1 <= count ? seq + 1 : count);
    }
    rpl_cursor_free(cursor);
}

static void seeking_in_memory_equals_reading_from_the_start(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (uint32_t seed = 1; seed <= 3; seed++) {
        struct rpl_trace *trace = random_trace(seed == 1 ? 3000 : EVENTS, seed);
        struct rpl_index *index;

        ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
        assert_false(index->is_stored);
        assert_seeks(index, trace);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
}

static struct rpl_trace *file_open(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace;

    ok(rpl_trace_open(path, &trace, &err), &err);
    return trace;
}

static bool progress(void *user, uint64_t done, uint64_t total)
{
    assert_true(done < total);
    ++*(int *)user;
    return true;
}

/* Open an index on the file; how often was progress reported, which it is only where the index is made? */
static int open_and_seek(const char *path, struct rpl_trace *model)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = file_open(path);
    struct rpl_index *index;
    int calls = 0;

    ok(rpl_index_open(trace, progress, &calls, &index, &err), &err);
    assert_seeks(index, model);
    rpl_index_free(index);
    rpl_trace_free(trace);
    return calls;
}

static void keyframes_of_a_long_trace_in_memory_are_reused(void **state)
{
    static const uint64_t PARTS[] = {40, 39, 3,
                                     20, 19, 36}; /* of 40: forwards, back, from a frame */
    struct vs_error err = VS_ERROR_INIT;
    uint64_t count = (uint64_t)20 * RPL_CHUNK_EVENTS + 77;
    struct rpl_trace *trace = random_trace((uint32_t)count, 5);
    struct rpl_cursor *cursor;
    struct rpl_index *index;

    (void)state;
    ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
    cursor = rpl_cursor_new(index);
    for (size_t i = 0; i < sizeof(PARTS) / sizeof(PARTS[0]); i++)
        assert_at(cursor, trace, count * PARTS[i] / 40);
    rpl_cursor_free(cursor);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

static void sql(const char *path, const char *text)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, text, NULL, NULL, NULL))
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void a_stored_index_gives_the_same_results_and_is_rebuilt_if_missing(void **state)
{
    struct rpl_trace *model = random_trace(EVENTS, 5);
    char path[4096];

    trace_path(state, "stored.db", path, sizeof(path));
    random_trace_write(model, rpl_trace_event_count(model), path);
    assert_true(open_and_seek(path, model) > 0);
    assert_int_equal(open_and_seek(path, model), 0);
    sql(path, "DELETE FROM derived");
    assert_true(open_and_seek(path, model) > 0);
    assert_int_equal(open_and_seek(path, model), 0);
    /* a changed byte of the header, a missing keyframe, one with a changed byte, one of another chunk */
    sql(path, "UPDATE derived SET data = CAST(x'00' || substr(data, 2) AS BLOB) WHERE id = 0");
    assert_true(open_and_seek(path, model) > 0);
    sql(path, "DELETE FROM derived WHERE id >> 32 = 5 AND id % 2 = 1");
    open_and_seek(path, model);
    assert_int_equal(open_and_seek(path, model), 0);
    sql(path,
        "UPDATE derived SET data = CAST(substr(data, 1, 20) || x'55' || substr(data, 22) AS BLOB) "
        "WHERE id >> 32 = 5");
    open_and_seek(path, model);
    assert_int_equal(open_and_seek(path, model), 0);
    sql(path, "UPDATE derived SET data = x'' WHERE id >> 32 = 1");
    assert_true(open_and_seek(path, model) > 0);
    rpl_trace_free(model);
}

/* A chunk is first read as far as it is needed; then what was left out is there, too, and prefetching reads it. */
static void a_chunk_of_which_a_part_was_read_is_completed(void **state)
{
    struct rpl_trace *model = random_trace(EVENTS, 6);
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace;
    struct rpl_index *index;
    struct rpl_walk walk;
    char path[4096];

    random_trace_write(model, EVENTS, trace_path(state, "parts.db", path, sizeof(path)));
    ok(rpl_index_make(path, EVENTS, NULL, NULL, &err), &err); /* making it reads all of it */
    trace = file_open(path);
    ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
    for (uint64_t first = 1; first < EVENTS; first += RPL_CHUNK_EVENTS) {
        const uint64_t offsets[] = {RPL_CHUNK_EVENTS / 4, 0, RPL_CHUNK_EVENTS / 4 + 1,
                                    RPL_CHUNK_EVENTS - 1};

        for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
            const struct vs_event *wanted;
            struct vs_event got;

            if (first + offsets[i] > EVENTS)
                break;
            ok(rpl_index_event(index, first + offsets[i], &got, &err), &err);
            ok(rpl_trace_span(model, first + offsets[i], 1, NULL, &wanted, &err), &err);
            assert_memory_equal(&got, wanted, sizeof(got));
            if (i == 2 && first + RPL_CHUNK_EVENTS <= EVENTS) {
                assert_true(rpl_index_prefetch(index, first));
                assert_false(rpl_index_prefetch(index, first + RPL_CHUNK_EVENTS - 1));
            }
        }
    }
    rpl_index_free(index);
    ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
    rpl_walk_init(&walk, index);
    ok(rpl_walk_to(&walk, RPL_CHUNK_EVENTS / 2, &err), &err);
    while (walk.seq < EVENTS) {
        const struct vs_event *got = rpl_walk_next(&walk, &err);
        const struct vs_event *wanted;

        ok(rpl_trace_span(model, walk.seq, 1, NULL, &wanted, &err), &err);
        assert_non_null(got);
        assert_memory_equal(got, wanted, sizeof(*got));
    }
    rpl_index_free(index);
    rpl_trace_free(trace);
    rpl_trace_free(model);
}

static bool is_index_stored(const char *path)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace;
    bool is_stored;

    ok(rpl_trace_open(path, &trace, &err), &err);
    is_stored = rpl_index_is_stored(trace);
    rpl_trace_free(trace);
    return is_stored;
}

static bool stop_at_once(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    (void)done;
    (void)total;
    return false;
}

static void the_index_of_a_recording_is_stored_when_it_is_finished(void **state)
{
    struct rpl_trace *model = random_trace(EVENTS, 9);
    struct vs_error err = VS_ERROR_INIT;
    char path[4096];

    trace_path(state, "made.db", path, sizeof(path));
    random_trace_write(model, rpl_trace_event_count(model), path);
    assert_int_equal(rpl_index_make(path, EVENTS, stop_at_once, NULL, &err), VS_E_STOPPED);
    assert_false(is_index_stored(path));
    ok(rpl_index_make(path, rpl_trace_event_count(model), NULL, NULL, &err), &err);
    assert_int_equal(open_and_seek(path, model), 0);
    random_trace_write(model, 100, path);
    ok(rpl_index_make(path, 100, NULL, NULL, &err), &err);
    ok(rpl_index_make("no/such/file.db", 100, NULL, NULL, &err), &err);
    assert_int_equal(rpl_index_make("no/such/file.db", EVENTS, NULL, NULL, &err), VS_E_NOT_FOUND);
    rpl_trace_free(model);
}

static void the_index_of_an_unwritable_file_is_kept_in_memory(void **state)
{
    struct rpl_trace *model = random_trace(EVENTS, 6);
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace;
    struct rpl_index *index;
    char path[4096];
    sqlite3 *other;

    trace_path(state, "locked.db", path, sizeof(path));
    random_trace_write(model, rpl_trace_event_count(model), path);
    /* root writes what it likes, so someone else holds the file instead, as a recorder does */
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    trace = file_open(path);
    ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
    assert_false(index->is_stored);
    assert_seeks(index, model);
    rpl_index_free(index);
    rpl_trace_free(trace);
    sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(other);
    rpl_trace_free(model);
}

static bool stop(void *user, uint64_t done, uint64_t total)
{
    (void)user;
    (void)total;
    return done < 2 * RPL_CHUNK_EVENTS;
}

static void building_an_index_can_be_stopped(void **state)
{
    struct rpl_trace *model = random_trace(EVENTS, 7);
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_index *index;

    (void)state;
    assert_int_equal(rpl_index_open(model, stop, NULL, &index, &err), VS_E_STOPPED);
    assert_null(index);
    rpl_trace_free(model);
}

static void impossible_sequences_of_events_are_reported_as_damage(void **state)
{
    const struct {
        struct vs_event event;
        const char *text;
    } cases[] = {
        {{.kind = VS_EV_FREE, .free = {.block = 2}}, "event 2 frees a block that is not alive: 2"},
        {{.kind = VS_EV_FREE, .free = {.block = 1, .requested_bytes = 1, .block_bytes = 512}},
         "another number of bytes"},
        {{.kind = VS_EV_ALLOC, .alloc = {.block = 1, .block_bytes = 512}},
         "allocates a block again: 1"},
        {{.kind = VS_EV_ALLOC, .alloc = {.block = 0, .block_bytes = 512}}, "no possible number: 0"},
        {{.kind = VS_EV_ALLOC, .alloc = {.block = UINT64_C(1) << 50}}, "no possible number"},
        {{.kind = VS_EV_ALLOC, .alloc = {.block = 2, .block_bytes = UINT64_MAX}},
         "more than can be counted"},
        {{.kind = VS_EV_ALLOC, .alloc = {.block = 2, .category = 200}}, "no such category"},
        {{.kind = VS_EV_CATEGORY, .category = {.block = 1, .category = 200}}, "no such category"},
        {{.kind = VS_EV_CATEGORY, .category = {.block = 9}}, "not alive: 9"},
        {{.kind = VS_EV_SEGMENT_FREE, .segment = {.bytes = 1}}, "reserved bytes"},
        {{.kind = VS_EV_PHASE, .phase = {.phase = 99}}, "no such phase: 99"},
        {{.kind = 99}, "of no kind that there is: 99"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vs_error err = VS_ERROR_INIT;
        struct rpl_index *index;
        struct make m;

        make_init(&m);
        make_alloc(&m, 400, VS_CAT_ACTIVATION);
        make_event(&m, cases[i].event);
        assert_int_equal(rpl_index_open(m.trace, NULL, NULL, &index, &err), VS_E_DAMAGED);
        if (!strstr(err.text, cases[i].text))
            fail_msg("\"%s\" is not in \"%s\"", cases[i].text, err.text);
        rpl_trace_free(m.trace);
    }
}

static void traces_of_no_event_and_of_one_event_can_be_opened(void **state)
{
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (uint64_t n = 0; n <= 1; n++) {
        struct rpl_index *index;
        struct rpl_cursor *cursor;
        struct make m;

        make_init(&m);
        if (n)
            make_step(&m, 0);
        ok(rpl_index_open(m.trace, NULL, NULL, &index, &err), &err);
        assert_int_equal(rpl_index_event_count(index), n);
        cursor = rpl_cursor_new(index);
        assert_at(cursor, m.trace, n);
        assert_string_equal(rpl_cursor_here(cursor).module, "");
        assert_int_equal(rpl_index_top(index).event, 0);
        rpl_cursor_free(cursor);
        rpl_index_free(index);
        rpl_trace_free(m.trace);
    }
}

/* A file that grows: what a refresh makes of it is what an open would find. */
static void a_growing_file_is_followed(void **state)
{
    struct rpl_trace *model = random_trace(EVENTS, 8);
    uint64_t count = rpl_trace_event_count(model);
    const uint64_t parts[] = {10,        RPL_CHUNK_EVENTS - 1, RPL_CHUNK_EVENTS,
                              count / 2, count / 2 + 3,        count};
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_trace *trace = NULL;
    struct rpl_index *index = NULL;
    char path[4096];

    trace_path(state, "follow.db", path, sizeof(path));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        uint64_t added = 0;
        struct rpl_cursor *cursor;

        /* the same file with more in it: SQLite's readers see a new transaction, not a new file */
        if (i == 0) {
            random_trace_write(model, parts[i], path);
            sql(path, "CREATE TABLE keep (x)");
            trace = file_open(path);
            ok(rpl_index_open(trace, NULL, NULL, &index, &err), &err);
            continue;
        }
        random_trace_write(model, parts[i], strcat(path, ".next"));
        path[strlen(path) - 5] = '\0';
        {
            char text[8192];

            snprintf(
                text, sizeof(text),
                "ATTACH '%s.next' AS n; BEGIN; DELETE FROM event_block; DELETE FROM event_chunk; "
                "INSERT INTO event_block SELECT * FROM n.event_block; "
                "INSERT INTO event_chunk SELECT * FROM n.event_chunk; "
                "DELETE FROM step; INSERT INTO step SELECT * FROM n.step; COMMIT;",
                path);
            sql(path, text);
        }
        ok(rpl_index_refresh(index, &added, &err), &err);
        assert_int_equal(added, parts[i] - parts[i - 1]);
        assert_int_equal(rpl_index_event_count(index), parts[i]);
        cursor = rpl_cursor_new(index);
        assert_at(cursor, model, parts[i]);
        assert_at(cursor, model, parts[i] / 2);
        rpl_cursor_free(cursor);
    }
    rpl_index_free(index);
    rpl_trace_free(trace);
    rpl_trace_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeking_in_memory_equals_reading_from_the_start),
        cmocka_unit_test(keyframes_of_a_long_trace_in_memory_are_reused),
        cmocka_unit_test(a_stored_index_gives_the_same_results_and_is_rebuilt_if_missing),
        cmocka_unit_test(a_chunk_of_which_a_part_was_read_is_completed),
        cmocka_unit_test(the_index_of_a_recording_is_stored_when_it_is_finished),
        cmocka_unit_test(the_index_of_an_unwritable_file_is_kept_in_memory),
        cmocka_unit_test(building_an_index_can_be_stopped),
        cmocka_unit_test(impossible_sequences_of_events_are_reported_as_damage),
        cmocka_unit_test(traces_of_no_event_and_of_one_event_can_be_opened),
        cmocka_unit_test(a_growing_file_is_followed),
    };

    return cmocka_run_group_tests_name("replay/inspect", tests, trace_folder_setup,
                                       trace_folder_teardown);
}
