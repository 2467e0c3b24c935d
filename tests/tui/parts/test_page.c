/*
 * tests/tui/parts/test_page.c - a wrapped line is one stop of the cursor; a table stays narrow on a wide screen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tui/parts/page.h"

/* Lines 0, 1 and 2, of which 1 has two more rows. */
static void page_make(struct tui_page *page, int height)
{
    tui_page_add(page, TUI_PLAIN, "zero");
    tui_page_wrap(page, 10, 0, TUI_PLAIN, "one is of three rows here");
    tui_page_add(page, TUI_PLAIN, "two");
    tui_list_fit(&page->list, page->count, height);
}

static void expect_at(struct tui_page *page, enum tui_action action, int64_t count, size_t row)
{
    assert_true(tui_page_act(page, action, count));
    assert_int_equal(page->list.at, row);
}

static void a_wrapped_line_is_one_stop(void **state)
{
    struct tui_page page = {.count = 0};

    (void)state;
    page_make(&page, 10);
    assert_int_equal(page.count, 5);
    expect_at(&page, TUI_DOWN, 1, 1);
    expect_at(&page, TUI_DOWN, 1, 4);
    expect_at(&page, TUI_DOWN, 1, 4);
    expect_at(&page, TUI_UP, 1, 1);
    expect_at(&page, TUI_UP, 1, 0);
    expect_at(&page, TUI_UP, 1, 0);
    expect_at(&page, TUI_DOWN, 2, 4);
    expect_at(&page, TUI_UP, 9, 0);
    assert_false(tui_page_act(&page, TUI_OPEN, 1));
    tui_page_release(&page);
}

/* The rest of the last line is no stop of its own. */
static void the_end_is_the_beginning_of_the_last_line(void **state)
{
    struct tui_page page = {.count = 0};

    (void)state;
    tui_page_add(&page, TUI_PLAIN, "zero");
    tui_page_wrap(&page, 10, 0, TUI_PLAIN, "one is of three rows here");
    tui_list_fit(&page.list, page.count, 10);
    expect_at(&page, TUI_DOWN, 1, 1);
    expect_at(&page, TUI_DOWN, 1, 1);
    expect_at(&page, TUI_BOTTOM, 1, 1);
    expect_at(&page, TUI_TOP, 1, 0);
    tui_page_release(&page);
}

static void all_rows_of_the_chosen_line_are_marked(void **state)
{
    struct tui_page page = {.count = 0};
    struct tui_surface surface;
    struct tui_canvas c;

    (void)state;
    tui_surface_init(&surface, 20, 6, false);
    c = tui_canvas_of(&surface, (struct tui_rect){0, 0, 20, 6});
    page_make(&page, 6);
    expect_at(&page, TUI_DOWN, 1, 1);
    tui_page_draw(&page, &c, true);
    for (int y = 0; y < 5; y++)
        assert_int_equal((surface.cells[y * 20 + 2].style.marks & TUI_SELECTED) != 0,
                         y >= 1 && y <= 3);
    tui_page_release(&page);
    tui_surface_release(&surface);
}

static void a_table_is_not_wider_than_can_be_read(void **state)
{
    struct tui_surface surface;
    struct tui_canvas c;

    (void)state;
    tui_surface_init(&surface, 300, 4, false);
    c = tui_canvas_of(&surface, (struct tui_rect){0, 0, 300, 4});
    assert_int_equal(tui_table_canvas(&c, 100).at.w, 100);
    assert_int_equal(tui_table_canvas(&c, 20).at.w, 80);
    c = tui_canvas_of(&surface, (struct tui_rect){0, 0, 60, 4});
    assert_int_equal(tui_table_canvas(&c, 100).at.w, 60);
    tui_surface_release(&surface);
}

/* No word is lost where a line of several parts does not fit, and its rows are one stop. */
static void a_line_of_parts_is_folded_into_rows(void **state)
{
    static const char *const ROWS[] = {"  S 50.0 MiB the", "    first conv —", "    saved by",
                                       "    autograd"};
    struct tui_page page = {.count = 0};

    (void)state;
    tui_page_add(&page, TUI_CAT_SAVED, "  S")->block = 7;
    tui_page_more(&page, 0, TUI_STRONG, " 50.0 MiB the first conv");
    tui_page_more(&page, 0, TUI_DIM, " \xE2\x80\x94 saved by autograd");
    tui_page_fold(&page, 17, 4);
    assert_int_equal(page.count, 4);
    for (size_t i = 0; i < page.count; i++) {
        assert_string_equal(vs_text_get(&page.lines[i].text), ROWS[i]);
        assert_int_equal(page.lines[i].is_more, i > 0);
        assert_int_equal(page.lines[i].block, 7);
    }
    /* each part keeps its role: "first conv" and what follows it */
    assert_int_equal(page.lines[1].parts[1].role, TUI_STRONG);
    assert_int_equal(page.lines[1].parts[2].role, TUI_DIM);
    /* a part with a cell of its own counts from there */
    tui_page_add(&page, TUI_PLAIN, "k");
    tui_page_more(&page, 8, TUI_DIM, "one two");
    tui_page_fold(&page, 14, 8);
    assert_int_equal(page.count, 6);
    assert_string_equal(vs_text_get(&page.lines[4].text), "kone");
    assert_string_equal(vs_text_get(&page.lines[5].text), "        two");
    page.count = 4;
    /* what fits is left alone */
    tui_page_add(&page, TUI_PLAIN, "short enough");
    tui_page_fold(&page, 12, 4);
    assert_int_equal(page.count, 5);
    assert_string_equal(vs_text_get(&page.lines[4].text), "short enough");
    tui_page_release(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrapped_line_is_one_stop),
        cmocka_unit_test(the_end_is_the_beginning_of_the_last_line),
        cmocka_unit_test(all_rows_of_the_chosen_line_are_marked),
        cmocka_unit_test(a_table_is_not_wider_than_can_be_read),
        cmocka_unit_test(a_line_of_parts_is_folded_into_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
