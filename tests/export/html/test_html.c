/*
 * tests/export/html/test_html.c - the report for a browser: its figures are those of the trace, no text of the trace
 * can leave its element, it refers to nothing outside, and its size is bounded.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "export/export.h"
#include "export/html/html_internal.h"
#include "replay/inspect/block_name.h"
#include "replay/report/report.h"
#include "tests/replay/net_trace.h"

#define LENET "sample_nets/lenet.py"

static char *written(struct rpl_index *index, const struct exp_options *more)
{
    struct exp_options options = *more;
    struct vs_error err = VS_ERROR_INIT;
    char *bytes = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&bytes, &len);

    options.format = EXP_HTML;
    assert_non_null(file);
    if (exp_write(index, &options, file, &err))
        fail_msg("%s", err.text);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(strlen(bytes), len);
    return bytes;
}

static struct rpl_index *indexed(struct rpl_trace *trace)
{
    struct rpl_index *index = NULL;
    struct vs_error err = VS_ERROR_INIT;

    if (rpl_index_open(trace, NULL, NULL, &index, &err))
        fail_msg("%s", err.text);
    return index;
}

/* The JSON of the page, from its opening brace on. */
static const char *data_of(const char *html)
{
    static const char BEGIN[] = "<script type=\"application/json\" id=\"data\">";
    const char *data = strstr(html, BEGIN);

    assert_non_null(data);
    data += strlen(BEGIN);
    assert_int_equal(*data, '{');
    return data;
}

/* The part of the JSON from the first `begin` in it on. */
static const char *after(const char *json, const char *begin)
{
    const char *found = strstr(json, begin);

    if (!found)
        fail_msg("there is no %s in %.200s", begin, json);
    return found + strlen(begin);
}

static uint64_t number_of(const char *json, const char *begin)
{
    return strtoull(after(json, begin), NULL, 10);
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;

    while ((text = strstr(text, part)) != NULL) {
        count++;
        text += strlen(part);
    }
    return count;
}

/* ---- figures ---- */

static void the_peak_is_that_of_the_report(void **state)
{
    struct rpl_trace *trace = net_trace(LENET, "optimizer=adam");
    struct rpl_index *index = indexed(trace);
    struct exp_options options = {.name = "/some/where/run.db"};
    struct rpl_report report = {.at = 0};
    struct vs_text text = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;
    char *html = written(index, &options);
    const char *peak = after(data_of(html), "\"peak\": ");
    const char *known;

    (void)state;
    assert_int_equal(rpl_report_fill(&report, trace, 0, &err), VS_OK);
    rpl_report_json(&report, &text);
    known = after(vs_text_get(&text), "\"peak\": ");
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
        char key[64];

        snprintf(key, sizeof(key), "\"%s\": ", vs_category_name((enum vs_category)i));
        assert_int_equal(number_of(peak, key), number_of(known, key));
    }
    assert_int_equal(number_of(peak, "\"allocated\": "), report.sum.peak.allocated);
    assert_int_equal(number_of(peak, "\"reserved\": "), report.sum.peak.reserved);
    assert_int_equal(number_of(peak, "\"event\": "), report.sum.peak.event);
    assert_int_equal(number_of(data_of(html), "\"events\": "), report.sum.events);
    assert_non_null(strstr(html, "<title>run.db: GPU memory</title>"));
    assert_null(strstr(html, "/some/where"));
    vs_text_release(&text);
    rpl_report_release(&report);
    free(html);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

/* Reads an array of differences into their sums; returns their number. */
static size_t sums_read(const char *json, const char *key, int64_t *out, size_t most)
{
    char *at = (char *)(uintptr_t)after(json, key);
    size_t count = 0;
    int64_t now = 0;

    assert_int_equal(*at, '[');
    while (*at == '[' || *at == ',') {
        now += strtoll(at + 1, &at, 10);
        assert_true(count < most);
        out[count++] = now;
    }
    assert_int_equal(*at, ']');
    return count;
}

/*
 * A trace of fewer events than columns has a column an event: the sums of its categories are what is allocated after
 * each, and the blocks listed as alive there, all of which are in so short a trace, add up to it.
 */
static void columns_and_blocks_add_up_to_what_is_allocated(void **state)
{
    struct rpl_trace *trace = net_trace(LENET, "steps=1");
    struct rpl_index *index = indexed(trace);
    struct exp_options options = {.name = "run.db"};
    char *html = written(index, &options);
    const char *ranges = after(data_of(html), "\"ranges\": ");
    uint64_t events = rpl_trace_event_count(trace);
    int64_t *totals = vs_calloc(HTML_STEP_COLUMNS, sizeof(*totals));
    int64_t *sums = vs_calloc(HTML_STEP_COLUMNS, sizeof(*sums));
    int64_t *of_blocks = vs_calloc(HTML_STEP_COLUMNS + 1, sizeof(*of_blocks));
    const char *block = after(data_of(html), "\"blocks\": ");
    const char *end = strstr(block, "\"at_peak\"");
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_true(events <= HTML_STEP_COLUMNS);
    for (size_t i = 0; i < VS_CATEGORY_COUNT; i++) {
        char key[64];

        snprintf(key, sizeof(key), "\"%s\": ", vs_category_name((enum vs_category)i));
        if (!strstr(ranges, key) || strstr(ranges, key) > block)
            continue;
        assert_int_equal(sums_read(ranges, key, sums, HTML_STEP_COLUMNS), events);
        for (size_t j = 0; j < events; j++)
            totals[j] += sums[j];
    }
    while ((block = strstr(block, "\"alloc\": ")) != NULL && block < end) {
        uint64_t alloc = number_of(block, "\"alloc\": ");
        uint64_t freed = number_of(block, "\"free\": ");

        for (uint64_t seq = alloc; seq < (freed ? freed : events + 1); seq++)
            of_blocks[seq] += (int64_t)number_of(block, "\"bytes\": ");
        block++;
    }
    for (uint64_t seq = 1; seq <= events; seq++) {
        struct rpl_column column;

        assert_int_equal(rpl_timeline_range(index, seq, seq, &column, &err), VS_OK);
        if (totals[seq - 1] != (int64_t)column.allocated_max ||
            of_blocks[seq] != (int64_t)column.allocated_max)
            fail_msg("event %" PRIu64 ": %" PRId64 " in columns, %" PRId64 " in blocks, %" PRIu64
                     " allocated",
                     seq, totals[seq - 1], of_blocks[seq], column.allocated_max);
    }
    vs_free(of_blocks);
    vs_free(sums);
    vs_free(totals);
    free(html);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

static void whatifs_have_their_peak_change_and_columns(void **state)
{
    struct rpl_trace *trace = net_trace(LENET, NULL);
    struct rpl_trace *other = net_trace(LENET, "batch=16");
    struct rpl_index *index = indexed(trace);
    struct rpl_index *second = indexed(other);
    struct rpl_column columns[EXP_WHATIF_COLUMNS];
    char label[] = "batch=16";
    struct exp_whatif whatif = {.label = label,
                                .costs = "nothing",
                                .peak = rpl_index_top(second).allocated,
                                .arithmetic = 0.5,
                                .columns = columns,
                                .count = EXP_WHATIF_COLUMNS};
    struct exp_options options = {.name = "run.db", .whatifs = &whatif, .whatif_count = 1};
    int64_t heights[EXP_WHATIF_COLUMNS];
    struct vs_error err = VS_ERROR_INIT;
    const char *data;
    char *html;
    char text[128];

    (void)state;
    assert_int_equal(rpl_timeline_columns(second, 1, rpl_index_event_count(second), columns,
                                          EXP_WHATIF_COLUMNS, &err),
                     VS_OK);
    html = written(index, &options);
    data = after(data_of(html), "\"whatifs\": ");
    snprintf(text, sizeof(text), "\"delta\": %" PRId64 ",",
             (int64_t)(rpl_index_top(second).allocated - rpl_index_top(index).allocated));
    assert_non_null(strstr(data, text));
    assert_int_equal(number_of(data, "\"peak\": "), rpl_index_top(second).allocated);
    assert_int_equal(sums_read(data, "\"allocated\": ", heights, EXP_WHATIF_COLUMNS),
                     EXP_WHATIF_COLUMNS);
    for (size_t i = 0; i < EXP_WHATIF_COLUMNS; i++)
        assert_int_equal(heights[i], columns[i].allocated_max);
    free(html);
    rpl_index_free(second);
    rpl_index_free(index);
    rpl_trace_free(other);
    rpl_trace_free(trace);
}

/* ---- form ---- */

static void assert_stands_alone(const char *html)
{
    static const char *const OUTSIDE[] = {
        "http:",   "https:",         "src=",  "href",      "url(",    "@import",
        "fetch(",  "XMLHttpRequest", "<link", "<img",      "<iframe", "WebSocket",
        "import(", "EventSource",    "eval(", "innerHTML", "Worker(", "sendBeacon"};

    for (size_t i = 0; i < sizeof(OUTSIDE) / sizeof(OUTSIDE[0]); i++)
        if (strstr(html, OUTSIDE[i]))
            fail_msg("%s: %.60s", OUTSIDE[i], strstr(html, OUTSIDE[i]));
    assert_non_null(strstr(html, "content=\"default-src 'none'; style-src 'unsafe-inline'; "
                                 "script-src 'unsafe-inline'\""));
}

/* "conv1 _convolution", not "_convolution of conv1". */
static void a_block_without_a_name_is_called_by_what_made_it_as_in_the_tui(void **state)
{
    struct rpl_trace *trace = net_trace(LENET, NULL);
    struct rpl_index *index = indexed(trace);
    struct exp_options options = {.name = "run.db"};
    char *html = written(index, &options);
    const char *data = data_of(html);
    struct rpl_lifetime life;
    struct vs_error err = VS_ERROR_INIT;
    size_t checked = 0;

    (void)state;
    for (const char *at = strstr(data, "\"name\": null, \"origin\": \""); at;
         at = strstr(at + 1, "\"name\": null, \"origin\": \"")) {
        struct rpl_block block = {.category = VS_CAT_ACTIVATION};
        struct vs_text wanted = {NULL, 0, 0};
        const char *id = at;

        while (strncmp(id, "{\"id\": ", 7) != 0)
            id--;
        assert_int_equal(rpl_lifetime_get(index, number_of(id, "\"id\": "), &life, &err), VS_OK);
        block.tensor = life.tensor;
        block.alloc_location = life.location;
        if (!*rpl_trace_string(trace, rpl_trace_location(trace, life.location)->op) || !life.tensor)
            continue; /* its category says more */
        rpl_block_origin(trace, &block, &wanted);
        assert_int_equal(strncmp(after(at, "\"origin\": \""), vs_text_get(&wanted), wanted.len), 0);
        vs_text_release(&wanted);
        checked++;
    }
    assert_true(checked > 0);
    free(html);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

static void the_page_refers_to_nothing_outside_and_is_the_same_each_time(void **state)
{
    struct rpl_trace *trace = net_trace(LENET, NULL);
    struct rpl_index *index = indexed(trace);
    struct exp_options options = {.name = "run.db"};
    char *html = written(index, &options);
    char *again = written(index, &options);

    (void)state;
    assert_memory_equal(html, "<!DOCTYPE html>\n", 16);
    assert_stands_alone(html);
    assert_string_equal(html, again);
    assert_int_equal(count_of(html, "<script"), 2);
    assert_int_equal(count_of(html, "</script>"), 2);
    assert_int_equal(count_of(html, "<style>"), 1);
    assert_null(strchr(html, '@') ? strstr(html, "@data@") : NULL);
    assert_null(strstr(html, "@script@"));
    free(again);
    free(html);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

static void names_of_any_bytes_stay_in_their_element(void **state)
{
    static const char ODD[] = "</script><b title=\"x\">&'\x01\xff";
    struct rpl_trace *trace = rpl_trace_new();
    struct vs_location location = {.phase = VS_PHASE_FORWARD, .line = 1};
    struct vs_event event = {.kind = VS_EV_STEP, .step = {.number_plus_one = 1}};
    struct exp_options options = {.name = ODD};
    struct rpl_index *index;
    char *html;

    (void)state;
    location.op = location.func = location.module = rpl_trace_add_string(trace, ODD);
    rpl_trace_set_source(trace, ODD, ODD);
    rpl_trace_set_toggle(trace, "batch", ODD, false);
    event.location = rpl_trace_add_location(trace, &location);
    rpl_trace_add_event(trace, &event);
    event = (struct vs_event){
        .kind = VS_EV_ALLOC,
        .alloc = {.block = 1, .requested_bytes = 2000000, .block_bytes = 2097152, .address = 4096},
        .location = 1};
    rpl_trace_add_event(trace, &event);
    index = indexed(trace);
    html = written(index, &options);
    assert_int_equal(count_of(html, "</script>"), 2);
    assert_null(strstr(html, "<b title"));
    assert_non_null(
        strstr(html, "\\u003c/script\\u003e\\u003cb title=\\\"x\\\"\\u003e\\u0026'\\u0001"));
    assert_non_null(strstr(html, "<title>script&gt;&lt;b title=&quot;x&quot;&gt;&amp;"));
    free(html);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

static void an_empty_trace_has_a_page(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct rpl_index *index = indexed(trace);
    struct exp_options options = {.name = NULL};
    char *html = written(index, &options);

    (void)state;
    assert_non_null(strstr(html, "<title>a run: GPU memory</title>"));
    assert_non_null(strstr(data_of(html), "\"ranges\": []"));
    assert_stands_alone(html);
    free(html);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

#define GOLDEN "tests/golden/export/html.json"

/* The data of the page; under VRAMSCOPE_GOLDEN=write the file is written. */
static void assert_golden(const char *html)
{
    const char *data = data_of(html);
    size_t len = (size_t)(strstr(data, "</script>") - data);
    const char *wish = getenv("VRAMSCOPE_GOLDEN");
    bool is_written = wish && strcmp(wish, "write") == 0;
    FILE *file = fopen(GOLDEN, is_written ? "w" : "r");
    char *known = vs_calloc(1, len + 2);

    if (!file)
        fail_msg(GOLDEN ": cannot be opened");
    if (is_written)
        assert_int_equal(fwrite(data, 1, len, file), len);
    else if (fread(known, 1, len + 1, file) != len || memcmp(known, data, len) != 0)
        fail_msg("the data differs from " GOLDEN "; `make golden` rewrites it:\n%.*s", (int)len,
                 data);
    fclose(file);
    vs_free(known);
}

/* Two blocks, of which one changes its category and is freed. */
static void the_data_of_a_small_trace_is_as_reviewed(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct vs_location location = {.phase = VS_PHASE_FORWARD, .line = 2};
    struct exp_options options = {.name = "small.db"};
    struct vs_event events[] = {
        {.kind = VS_EV_STEP, .step = {.number_plus_one = 1}},
        {.kind = VS_EV_PHASE, .phase = {.phase = VS_PHASE_FORWARD}},
        {.kind = VS_EV_SEGMENT_ALLOC, .segment = {.bytes = 2097152, .address = 4096}},
        {.kind = VS_EV_ALLOC,
         .alloc = {.block = 1,
                   .requested_bytes = 1000,
                   .block_bytes = 1024,
                   .address = 4096,
                   .category = VS_CAT_ACTIVATION}},
        {.kind = VS_EV_ALLOC,
         .alloc = {.block = 2,
                   .requested_bytes = 4096,
                   .block_bytes = 4096,
                   .address = 8192,
                   .category = VS_CAT_ACTIVATION}},
        {.kind = VS_EV_CATEGORY, .category = {.block = 2, .category = VS_CAT_SAVED}},
        {.kind = VS_EV_FREE,
         .free = {.block = 1, .requested_bytes = 1000, .block_bytes = 1024, .address = 4096}},
    };
    struct rpl_index *index;
    char *html;

    (void)state;
    location.op = rpl_trace_add_string(trace, "relu");
    location.func = rpl_trace_add_string(trace, "Net.forward");
    location.module = rpl_trace_add_string(trace, "layer1.0");
    rpl_trace_set_source(trace, "small.py", "def forward(self, x):\n    return relu(x)\n");
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        events[i].location = rpl_trace_add_location(trace, &location);
        rpl_trace_add_event(trace, &events[i]);
    }
    index = indexed(trace);
    html = written(index, &options);
    assert_golden(html);
    free(html);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

/* ---- size ---- */

/* `count` blocks, each alive while the next 200 are allocated. */
static struct rpl_trace *trace_of(uint64_t count)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct vs_event event = {.kind = VS_EV_STEP, .step = {.number_plus_one = 1}};
    struct vs_location location = {.phase = VS_PHASE_FORWARD, .line = 1};

    location.op = rpl_trace_add_string(trace, "an_op_with_a_name_of_some_length");
    event.location = rpl_trace_add_location(trace, &location);
    rpl_trace_add_event(trace, &event);
    for (uint64_t i = 1; i <= count + 200; i++) {
        uint64_t old = i > 200 ? i - 200 : 0;

        if (old)
            rpl_trace_add_event(trace,
                                &(struct vs_event){.kind = VS_EV_FREE,
                                                   .location = event.location,
                                                   .free = {.block = old,
                                                            .requested_bytes = 512 * (old % 50 + 1),
                                                            .block_bytes = 512 * (old % 50 + 1),
                                                            .address = old << 20}});
        if (i <= count)
            rpl_trace_add_event(trace,
                                &(struct vs_event){.kind = VS_EV_ALLOC,
                                                   .location = event.location,
                                                   .alloc = {.block = i,
                                                             .requested_bytes = 512 * (i % 50 + 1),
                                                             .block_bytes = 512 * (i % 50 + 1),
                                                             .address = i << 20}});
    }
    return trace;
}

static void ten_times_as_many_events_do_not_make_a_larger_file(void **state)
{
    struct exp_options options = {.name = "run.db"};
    size_t sizes[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct rpl_trace *trace = trace_of(i ? 200000 : 20000);
        struct rpl_index *index = indexed(trace);
        char *html = written(index, &options);

        sizes[i] = strlen(html);
        assert_true(count_of(html, "\"alloc\": ") <= (size_t)3 * HTML_BLOCKS);
        free(html);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
    if (sizes[1] > sizes[0] + sizes[0] / 4)
        fail_msg("%zu bytes for 40,000 events, %zu for 400,000", sizes[0], sizes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peak_is_that_of_the_report),
        cmocka_unit_test(columns_and_blocks_add_up_to_what_is_allocated),
        cmocka_unit_test(whatifs_have_their_peak_change_and_columns),
        cmocka_unit_test(a_block_without_a_name_is_called_by_what_made_it_as_in_the_tui),
        cmocka_unit_test(the_page_refers_to_nothing_outside_and_is_the_same_each_time),
        cmocka_unit_test(names_of_any_bytes_stay_in_their_element),
        cmocka_unit_test(an_empty_trace_has_a_page),
        cmocka_unit_test(the_data_of_a_small_trace_is_as_reviewed),
        cmocka_unit_test(ten_times_as_many_events_do_not_make_a_larger_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
