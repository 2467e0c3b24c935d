/*
 * tests/tui/parts/test_layout.c - the layout of panes at every size of the screen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tui/parts/layout.h"

#define W_MAX 300
#define H_MAX 100

/* Counts every cell of `at` in `taken`; fails if one is outside or was taken before. */
static void take(unsigned char *taken, int w, int h, struct tui_rect at)
{
    if (at.x < 0 || at.y < 0 || at.x + at.w > w || at.y + at.h > h)
        fail_msg("%d,%d %dx%d leaves the screen of %dx%d", at.x, at.y, at.w, at.h, w, h);
    for (int y = at.y; y < at.y + at.h; y++)
        for (int x = at.x; x < at.x + at.w; x++)
            if (taken[y * w + x]++)
                fail_msg("%d,%d is taken twice at %dx%d", x, y, w, h);
}

static void check_size(int w, int h, bool is_single)
{
    static unsigned char taken[W_MAX * H_MAX];
    struct tui_layout layout;
    int count = 0;

    tui_layout_fill(&layout, w, h, is_single);
    assert_int_equal(layout.is_too_small, w < TUI_MIN_W || h < TUI_MIN_H);
    if (layout.is_too_small) {
        assert_int_equal(layout.pane_count, 0);
        return;
    }
    memset(taken, 0, (size_t)w * (size_t)h);
    take(taken, w, h, layout.header);
    take(taken, w, h, layout.status);
    take(taken, w, h, layout.keys);
    for (int i = 0; i < layout.pane_count; i++) {
        if (layout.panes[i].w < 12 || layout.panes[i].h < 5)
            fail_msg("pane %d has %dx%d at %dx%d", i, layout.panes[i].w, layout.panes[i].h, w, h);
        take(taken, w, h, layout.panes[i]);
    }
    for (int i = 0; i < layout.wall_count; i++)
        take(taken, w, h, layout.walls[i]);
    for (int i = 0; i < w * h; i++)
        count += taken[i];
    assert_int_equal(count, w * h);
}

static void panes_cover_the_screen_without_overlap(void **state)
{
    (void)state;
    for (int w = 1; w <= W_MAX; w++) {
        for (int h = 1; h <= H_MAX; h++) {
            check_size(w, h, false);
            check_size(w, h, true);
        }
    }
}

static int panes_at(int w, int h)
{
    struct tui_layout layout;

    tui_layout_fill(&layout, w, h, false);
    return layout.pane_count;
}

static void a_larger_screen_has_more_panes(void **state)
{
    (void)state;
    assert_int_equal(panes_at(80, 16), 1);
    assert_int_equal(panes_at(80, 24), 2);
    assert_int_equal(panes_at(120, 30), 4);
    assert_int_equal(panes_at(160, 48), 6);
}

static void a_click_selects_the_pane_under_it(void **state)
{
    struct tui_layout layout;

    (void)state;
    tui_layout_fill(&layout, 160, 48, false);
    for (int i = 0; i < layout.pane_count; i++) {
        struct tui_rect at = layout.panes[i];

        assert_int_equal(tui_layout_pane_at(&layout, at.x, at.y), i);
        assert_int_equal(tui_layout_pane_at(&layout, at.x + at.w - 1, at.y + at.h - 1), i);
    }
    assert_int_equal(tui_layout_pane_at(&layout, layout.walls[0].x, layout.walls[0].y), -1);
    assert_int_equal(tui_layout_pane_at(&layout, 0, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panes_cover_the_screen_without_overlap),
        cmocka_unit_test(a_larger_screen_has_more_panes),
        cmocka_unit_test(a_click_selects_the_pane_under_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
