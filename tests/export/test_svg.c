/*
 * tests/export/test_svg.c - the drawing of a timeline: its heights are those of the trace to the byte, it is
 * well-formed for any text, and it refers to no other file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "export/export.h"
#include "replay/index/timeline.h"
#include "replay/state/live.h"
#include "tests/replay/net_trace.h"

#define LENET "sample_nets/lenet.py"
#define COLUMNS_MAX 2000

/* The export of `index`, with `second` over it where that is not NULL. Heap memory. */
static char *drawn(struct rpl_index *index, struct rpl_index *second, const char *name)
{
    struct exp_options options = {
        .format = EXP_SVG, .name = name, .second = second, .second_name = "the \"other\" <run>"};
    struct vs_error err = VS_ERROR_INIT;
    char *bytes = NULL;
    size_t len = 0;
    FILE *file = open_memstream(&bytes, &len);

    assert_non_null(file);
    if (exp_write(index, &options, file, &err))
        fail_msg("%s", err.text);
    assert_int_equal(fclose(file), 0);
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

/* ---- XML ---- */

/* After the reference that begins at `p`; NULL: it is none of those that XML has without a DTD. */
static const char *reference_end(const char *p)
{
    static const char *const NAMES[] = {"&amp;", "&lt;", "&gt;", "&quot;"};

    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
        if (strncmp(p, NAMES[i], strlen(NAMES[i])) == 0)
            return p + strlen(NAMES[i]);
    return NULL;
}

/* Characters up to one of `stops`, all of them legal. */
static const char *characters_end(const char *p, const char *stops)
{
    while (*p && !strchr(stops, *p)) {
        size_t len = vs_utf8_len(p);

        if (*p == '&' && !reference_end(p))
            fail_msg("a bare &: %.40s", p);
        if (!len || *p == '<' || ((unsigned char)*p < 0x20 && *p != '\n') ||
            strncmp(p, "\xEF\xBF\xBE", 3) == 0 || strncmp(p, "\xEF\xBF\xBF", 3) == 0)
            fail_msg("no character of XML: %.40s", p);
        p = *p == '&' ? reference_end(p) : p + len;
    }
    return p;
}

static size_t name_len(const char *p)
{
    size_t len = 0;

    while (isalnum((unsigned char)p[len]) || strchr("-:", p[len]))
        len += p[len] ? 1 : 0;
    return len;
}

/* Every element is closed where it has to be, every attribute quoted and there once, one root. */
static void assert_well_formed(const char *svg)
{
    struct {
        const char *name;
        size_t len;
    } open[16];
    size_t depth = 0;
    size_t roots = 0;
    const char *p = svg;

    while (*(p = characters_end(p, "<"))) {
        bool is_end = *++p == '/';
        size_t len = name_len(p += is_end);

        assert_true(len > 0);
        if (is_end) {
            assert_true(depth > 0);
            depth--;
            if (open[depth].len != len || strncmp(open[depth].name, p, len) != 0)
                fail_msg("ends what is not open: %.40s", p);
            p += len;
        } else {
            roots += depth == 0;
            assert_true(depth < 16);
            open[depth].name = p;
            open[depth++].len = len;
            for (p += len; *p == ' ';) {
                len = name_len(++p);
                assert_true(len > 0);
                assert_memory_equal(p + len, "=\"", 2);
                p = characters_end(p + len + 2, "\"<");
                assert_int_equal(*p++, '"');
            }
            if (*p == '/') {
                p++;
                depth--;
            }
        }
        if (*p++ != '>')
            fail_msg("no end of a tag: %.40s", p - 1);
    }
    assert_int_equal(depth, 0);
    assert_int_equal(roots, 1);
}

static void assert_stands_alone(const char *svg)
{
    static const char *const OUTSIDE[] = {"<script", "href",   "url(",     "@import", "@font-face",
                                          "<image",  "onload", "<foreign", "<use",    "http://"};

    assert_memory_equal(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\"", 39);
    for (size_t i = 0; i < sizeof(OUTSIDE) / sizeof(OUTSIDE[0]); i++)
        if (strstr(svg + 39, OUTSIDE[i]))
            fail_msg("%s: %.60s", OUTSIDE[i], strstr(svg + 39, OUTSIDE[i]));
}

/* ---- heights ---- */

/* Reads the first number at or after *p, and moves *p behind it. */
static uint64_t number_next(const char **p)
{
    char *end;
    uint64_t value;

    while (!isdigit((unsigned char)**p))
        ++*p;
    value = strtoull(*p, &end, 10);
    *p = end;
    return value;
}

/* The path of a class, from its `d` on; NULL: there is none. */
static const char *path_of(const char *svg, const char *css)
{
    char begin[64];
    const char *found;

    snprintf(begin, sizeof(begin), "<path class=\"%s\" d=\"", css);
    found = strstr(svg, begin);
    return found ? found + strlen(begin) : NULL;
}

/*
 * The upper edge of an area: "M0 y H x V y H x …", up to where it turns back. Raises `edge` to it in every column.
 * Returns the number of columns.
 */
static size_t edge_read(const char *d, uint64_t *edge)
{
    uint64_t y;
    size_t from = 0;

    assert_memory_equal(d, "M0 ", 3);
    d += 3;
    y = number_next(&d);
    while (*d == 'H') {
        size_t to = (size_t)number_next(&d);

        if (to <= from)
            break;
        assert_true(to <= COLUMNS_MAX);
        for (; from < to; from++)
            edge[from] = y > edge[from] ? y : edge[from];
        assert_int_equal(*d, 'V');
        y = number_next(&d);
    }
    return from;
}

/*
 * The line along the heights: boxes "M x y H x V y H x Z"; those around a border between columns begin with half a
 * column.
 */
static size_t line_read(const char *d, uint64_t *heights)
{
    size_t count = 0;

    while (*d == 'M') {
        const char *end = strchr(d, 'Z');
        size_t from = (size_t)number_next(&d);
        bool is_riser = *d == '.';
        uint64_t y;

        if (!is_riser) {
            y = number_next(&d);
            count = (size_t)number_next(&d);
            assert_true(count <= COLUMNS_MAX);
            for (size_t i = from; i < count; i++)
                heights[i] = y;
        }
        d = end + 1;
    }
    return count;
}

/* The highest after each event, the plain way. */
static uint64_t *totals_of(struct rpl_trace *trace)
{
    uint64_t count = rpl_trace_event_count(trace);
    uint64_t *totals = vs_calloc((size_t)count + 1, sizeof(*totals));
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *event;

    rpl_scan_init(scan, trace, 1, count);
    while ((event = rpl_scan_next(scan, &err)) != NULL) {
        totals[scan->seq] = totals[scan->seq - 1];
        if (event->kind == VS_EV_ALLOC)
            totals[scan->seq] += event->alloc.block_bytes;
        else if (event->kind == VS_EV_FREE)
            totals[scan->seq] -= event->free.block_bytes;
    }
    assert_int_equal(scan->status, VS_OK);
    vs_free(scan);
    return totals;
}

static void assert_heights(struct rpl_trace *trace, struct rpl_index *index,
                           const uint64_t *heights, size_t count)
{
    struct rpl_column *columns = vs_calloc(count, sizeof(*columns));
    uint64_t *totals = totals_of(trace);
    struct vs_error err = VS_ERROR_INIT;

    assert_int_equal(
        rpl_timeline_columns(index, 1, rpl_trace_event_count(trace), columns, count, &err), VS_OK);
    for (size_t i = 0; i < count; i++) {
        uint64_t most = totals[columns[i].last_seq];

        for (uint64_t seq = columns[i].first_seq; seq <= columns[i].last_seq; seq++)
            most = totals[seq] > most ? totals[seq] : most;
        if (heights[i] != most)
            fail_msg("column %zu is %" PRIu64 " high, but %" PRIu64 " were allocated", i,
                     heights[i], most);
    }
    vs_free(totals);
    vs_free(columns);
}

static void the_top_edge_of_a_column_is_its_maximum(void **state)
{
    static const struct {
        const char *net;
        const char *toggles;
    } RUNS[] = {{LENET, NULL},
                {"sample_nets/resnet18.py", "checkpoint=blocks"},
                {"sample_nets/vit_tiny.py", "amp=fp16"}};

    (void)state;
    for (size_t r = 0; r < sizeof(RUNS) / sizeof(RUNS[0]); r++) {
        struct rpl_trace *trace = net_trace(RUNS[r].net, RUNS[r].toggles);
        struct rpl_index *index = indexed(trace);
        char *svg = drawn(index, NULL, "run.db");
        uint64_t edge[COLUMNS_MAX] = {0};
        size_t count = 0;

        for (unsigned i = 0; i < VS_CATEGORY_COUNT; i++) {
            char css[16];

            snprintf(css, sizeof(css), "vs-%u", i);
            if (path_of(svg, css))
                count = edge_read(path_of(svg, css), edge);
        }
        assert_true(count > 100);
        assert_heights(trace, index, edge, count);
        assert_well_formed(svg);
        assert_stands_alone(svg);
        free(svg);
        rpl_index_free(index);
        rpl_trace_free(trace);
    }
}

static void the_second_run_is_drawn_as_a_line(void **state)
{
    struct rpl_trace *trace = net_trace(LENET, NULL);
    struct rpl_trace *other = net_trace(LENET, "batch=16");
    struct rpl_index *index = indexed(trace);
    struct rpl_index *second = indexed(other);
    char *svg = drawn(index, second, "run.db");
    uint64_t heights[COLUMNS_MAX] = {0};
    const char *path = path_of(svg, "vs-second");
    size_t count;

    (void)state;
    assert_non_null(path);
    count = line_read(path, heights);
    assert_true(count > 100);
    assert_heights(other, second, heights, count);
    assert_non_null(strstr(svg, "the &quot;other&quot; &lt;run&gt;: peak "));
    assert_well_formed(svg);
    assert_stands_alone(svg);
    free(svg);
    rpl_index_free(second);
    rpl_index_free(index);
    rpl_trace_free(other);
    rpl_trace_free(trace);
}

/* ---- words ---- */

static void the_peak_is_described_to_the_byte(void **state)
{
    struct rpl_trace *trace = net_trace(LENET, NULL);
    struct rpl_index *index = indexed(trace);
    char *svg = drawn(index, NULL, "/some/where/run.db");
    char text[128];

    (void)state;
    snprintf(text, sizeof(text), "The highest is %" PRIu64 " bytes with ",
             rpl_index_top(index).allocated);
    assert_non_null(strstr(svg, text));
    assert_non_null(strstr(svg, "role=\"img\""));
    assert_non_null(strstr(svg, "<title>run.db: peak "));
    assert_null(strstr(svg, "/some/where"));
    assert_non_null(strstr(svg, "prefers-color-scheme:dark"));
    free(svg);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

/* A trace of one allocation on a device that is too small for the next, by names that no XML can hold. */
static void names_of_any_bytes_and_an_out_of_memory_are_drawn(void **state)
{
    static const char ODD[] = "<a href=\"x\">&\x01\x1f\xff\xc3 \xEF\xBF\xBF\xEF\xBF\xBE\t'";
    struct rpl_trace *trace = rpl_trace_new();
    struct vs_location location = {.phase = VS_PHASE_FORWARD, .line = 1};
    struct vs_event event = {.kind = VS_EV_STEP, .step = {.number_plus_one = 1}};
    struct rpl_index *index;
    char *svg;

    (void)state;
    location.op = location.func = location.module = rpl_trace_add_string(trace, ODD);
    rpl_trace_set_source(trace, ODD, ODD);
    rpl_trace_set_meta(trace, "capacity", "3145728");
    event.location = rpl_trace_add_location(trace, &location);
    rpl_trace_add_event(trace, &event);
    event = (struct vs_event){
        .kind = VS_EV_ALLOC,
        .alloc = {.block = 1, .requested_bytes = 2000000, .block_bytes = 2097152, .address = 4096},
        .location = 1};
    rpl_trace_add_event(trace, &event);
    event = (struct vs_event){.kind = VS_EV_OOM,
                              .oom = {.requested_bytes = 2000000, .segment_bytes = 2097152},
                              .location = 1};
    rpl_trace_add_event(trace, &event);
    index = indexed(trace);
    svg = drawn(index, NULL, ODD);
    assert_well_formed(svg);
    assert_non_null(strstr(svg, "capacity 3.0 MiB"));
    assert_non_null(strstr(svg, "out of memory"));
    assert_non_null(strstr(svg, "Memory ran out at event 3."));
    free(svg);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

static void an_empty_trace_is_drawn_with_a_message(void **state)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct rpl_index *index = indexed(trace);
    char *svg = drawn(index, NULL, "none.db");

    (void)state;
    assert_well_formed(svg);
    assert_non_null(strstr(svg, "nothing was allocated"));
    free(svg);
    rpl_index_free(index);
    rpl_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_top_edge_of_a_column_is_its_maximum),
        cmocka_unit_test(the_second_run_is_drawn_as_a_line),
        cmocka_unit_test(the_peak_is_described_to_the_byte),
        cmocka_unit_test(names_of_any_bytes_and_an_out_of_memory_are_drawn),
        cmocka_unit_test(an_empty_trace_is_drawn_with_a_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
