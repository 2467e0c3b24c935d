/*
 * tests/tui/parts/test_chart.c - the columns of a chart drawn in cells.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tui/parts/chart.h"
#include "tui/parts/format.h"
#include "tui/term/surface_text.h"
#include "tui/term/theme.h"

#define W 40
#define H 12
#define TOP 100000

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Columns of random categories, some empty, some with one category alone. */
static void columns_fill(struct rpl_column *columns, uint32_t *seed)
{
    memset(columns, 0, W * sizeof(*columns));
    for (int x = 0; x < W; x++) {
        int parts = (int)(next(seed) % 6);

        for (int i = 0; i < parts; i++) {
            uint64_t bytes = next(seed) % (TOP / 6);

            columns[x].by_category[next(seed) % VS_CATEGORY_COUNT] += bytes;
            columns[x].allocated_max += bytes;
        }
    }
}

/* Eighths of a cell that are filled from below; what has a ground of its own is full. */
static int filled(const struct tui_cell *cell)
{
    if (cell->ch == ' ')
        return 0;
    if (cell->ch >= 0x2581 && cell->ch <= 0x2588 && cell->style.behind == TUI_PLAIN)
        return (int)cell->ch - 0x2580;
    return 8;
}

static void a_column_is_as_high_as_its_peak(void **state)
{
    struct rpl_column columns[W];
    struct tui_surface surface;
    uint32_t seed = 5;

    (void)state;
    tui_surface_init(&surface, W, H, false);
    for (int round = 0; round < 50; round++) {
        struct tui_chart chart = {columns, NULL, W, TOP, false, false};
        struct tui_canvas c = tui_canvas_of(&surface, (struct tui_rect){0, 0, W, H});

        columns_fill(columns, &seed);
        tui_surface_clear(&surface);
        tui_chart_draw(&chart, &c);
        for (int x = 0; x < W; x++) {
            uint64_t bytes = columns[x].allocated_max;
            int wanted = (int)(((double)bytes * 8 * H) / TOP + 0.5);
            int height = 0;

            if (bytes && !wanted)
                wanted = 1;
            for (int y = 0; y < H; y++)
                height += filled(tui_surface_cell(&surface, x, y));
            assert_int_equal(height, wanted);
            assert_int_equal(tui_chart_row(bytes, TOP, H), H - (wanted + 7) / 8);
        }
    }
    tui_surface_release(&surface);
}

/* Each category alone fills its share of a column to within a cell, in its letter. */
static void letters_distinguish_the_categories(void **state)
{
    struct rpl_column columns[W];
    struct tui_chart chart = {columns, NULL, W, TOP, false, true};
    struct tui_surface surface;
    struct tui_canvas c;

    (void)state;
    memset(columns, 0, sizeof(columns));
    for (int i = 0; i < VS_CATEGORY_COUNT; i++)
        columns[i].by_category[i] = columns[i].allocated_max = TOP / 2;
    tui_surface_init(&surface, W, H, true);
    c = tui_canvas_of(&surface, (struct tui_rect){0, 0, W, H});
    tui_chart_draw(&chart, &c);
    for (int i = 0; i < VS_CATEGORY_COUNT; i++)
        for (int y = 0; y < H; y++)
            assert_int_equal(tui_surface_cell(&surface, i, y)->ch,
                             y < H / 2 ? ' ' : tui_category_letter(i));
    tui_surface_release(&surface);
}

static void the_second_run_is_drawn_where_it_differs(void **state)
{
    struct rpl_column columns[W];
    struct rpl_column other[W];
    struct tui_chart chart = {columns, other, W, TOP, false, false};
    struct tui_surface surface;
    struct tui_canvas c;

    (void)state;
    memset(columns, 0, sizeof(columns));
    memset(other, 0, sizeof(other));
    for (int x = 0; x < W; x++) {
        columns[x].by_category[VS_CAT_SAVED] = columns[x].allocated_max = TOP / 2;
        other[x].allocated_max = x < W / 2 ? TOP / 2 : TOP * 3 / 4;
    }
    tui_surface_init(&surface, W, H, false);
    c = tui_canvas_of(&surface, (struct tui_rect){0, 0, W, H});
    tui_chart_draw(&chart, &c);
    for (int x = 0; x < W; x++) {
        const struct tui_cell *cell = tui_surface_cell(&surface, x, H / 4);

        assert_int_equal(cell->style.role, x < W / 2 ? TUI_PLAIN : TUI_GHOST);
    }
    tui_surface_release(&surface);
}

/* Two parts in three columns, the first one below, each as high as its bytes. */
static void parts_stand_on_each_other(void **state)
{
    static const uint64_t BYTES[] = {1, 3, 2, 1, 0, 4};
    struct tui_surface surface;
    struct vs_text text = {NULL, 0, 0};
    struct tui_canvas c;

    (void)state;
    tui_surface_init(&surface, 3, 4, false);
    c = tui_canvas_of(&surface, (struct tui_rect){0, 0, 3, 4});
    tui_chart_parts(BYTES, 2, 3, 4, true, &c);
    tui_surface_text(&surface, c.at, &text);
    assert_string_equal(vs_text_get(&text), "b b\nbbb\nbab\naab\n");
    vs_text_release(&text);
    tui_surface_release(&surface);
    assert_int_not_equal(tui_chart_part_role(0), tui_chart_part_role(1));
}

static void figures_fit_into_their_cells(void **state)
{
    uint64_t n = 1;
    char buf[TUI_SHORT_MAX];

    (void)state;
    for (int i = 0; i < 64; i++, n = n * 2 + 1) {
        assert_in_range(strlen(tui_short_bytes(n, buf)), 1, TUI_SHORT_W);
        assert_in_range(strlen(tui_short_count(n, buf)), 1, TUI_SHORT_W);
        assert_in_range(strlen(tui_short_ns(n, buf)), 1, TUI_SHORT_W);
        assert_in_range(strlen(tui_short_delta((int64_t)n, buf)), 1, TUI_SHORT_W + 1);
    }
    assert_string_equal(tui_short_bytes(0, buf), "0B");
    assert_string_equal(tui_short_bytes(1023, buf), "1023B");
    assert_string_equal(tui_short_bytes(1024, buf), "1.0K");
    assert_string_equal(tui_short_bytes(17825792, buf), "17.0M");
    assert_string_equal(tui_short_bytes(1048575, buf), "1.0M");
    assert_string_equal(tui_short_bytes(UINT64_C(1493887488), buf), "1.39G");
    assert_string_equal(tui_short_bytes(UINT64_C(10732765184), buf), "10.0G");
    assert_string_equal(tui_short_delta(-1536, buf), "-1.5K");
    assert_string_equal(tui_short_delta(0, buf), "0");
    assert_string_equal(tui_short_count(20340, buf), "20.3k");
    assert_string_equal(tui_short_ns(850, buf), "850ns");
    assert_string_equal(tui_short_ns(12345, buf), "12.3us");
    assert_string_equal(tui_short_ns(999499, buf), "999us");
    assert_string_equal(tui_short_ns(999600, buf), "1.0ms");
    assert_string_equal(tui_short_ns(UINT64_C(72100000000), buf), "72.1s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_column_is_as_high_as_its_peak),
        cmocka_unit_test(letters_distinguish_the_categories),
        cmocka_unit_test(the_second_run_is_drawn_where_it_differs),
        cmocka_unit_test(parts_stand_on_each_other),
        cmocka_unit_test(figures_fit_into_their_cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
