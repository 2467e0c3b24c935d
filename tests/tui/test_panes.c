/*
 * tests/tui/test_panes.c - which views are on the screen: opening, closing and maximising lead back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/e2e/program.h"
#include "tests/tui/session.h"

static const int SIZES[][2] = {{80, 24}, {60, 14}, {120, 40}, {200, 50}};

/* From every view, whatever is shown below it, q goes back to the screen before it, and from the first one it quits. */
static void key_q_leads_back_from_every_view(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        struct tui_app app;
        char *first;

        session_open(&app, session_trace("variables", NULL), SIZES[i][0], SIZES[i][1]);
        first = session_screen(&app, true);
        for (size_t v = 0; tui_view_at(v); v++) {
            char *after;

            if (tui_view_find("timeline") == (int)v)
                continue;
            tui_app_view_at(&app, (int)v);
            session_type(&app, "q");
            assert_int_not_equal(app.wish, TUI_WISH_QUIT);
            after = session_screen(&app, true);
            if (strcmp(first, after) != 0)
                fail_msg("%d x %d, q in the view %s:\n%s", SIZES[i][0], SIZES[i][1],
                         tui_view_at(v)->name, after);
            free(after);
        }
        session_type(&app, "q");
        assert_int_equal(app.wish, TUI_WISH_QUIT);
        free(first);
        tui_app_release(&app);
    }
}

/* However many views were opened one after the other, at most four times q quits. */
static void a_few_times_q_quit_after_any_views(void **state)
{
    static const char *const KEYS[] = {"gm<tab>", "gbgmgS",  "gkgygbgs",
                                       "gwgWM",   "MgbgmgT", "gc<tab><tab>gh"};

    (void)state;
    for (size_t i = 0; i < sizeof(SIZES) / sizeof(SIZES[0]); i++) {
        for (size_t k = 0; k < sizeof(KEYS) / sizeof(KEYS[0]); k++) {
            struct tui_app app;
            size_t times = 0;

            session_open(&app, session_trace("variables", NULL), SIZES[i][0], SIZES[i][1]);
            session_type(&app, KEYS[k]);
            for (app.wish = TUI_WISH_NOTHING; app.wish != TUI_WISH_QUIT && times < 9; times++)
                session_type(&app, "q");
            if (times > 4)
                fail_msg("%d x %d, %s: %zu times q", SIZES[i][0], SIZES[i][1], KEYS[k], times);
            tui_app_release(&app);
        }
    }
}

/* Of each pane: M and M again show the same screen. */
static void a_maximised_pane_goes_back_to_its_place(void **state)
{
    struct tui_app app;
    char *before;
    char *after;

    (void)state;
    session_open(&app, session_trace("variables", NULL), 200, 50);
    for (int i = 0; i < app.layout.pane_count; i++) {
        before = session_screen(&app, true);
        session_type(&app, "MM");
        after = session_screen(&app, true);
        if (strcmp(before, after) != 0)
            fail_msg("pane %d:\n%s\n%s", i, before, after);
        free(before);
        free(after);
        session_type(&app, "<tab>");
    }
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_q_leads_back_from_every_view),
        cmocka_unit_test(a_few_times_q_quit_after_any_views),
        cmocka_unit_test(a_maximised_pane_goes_back_to_its_place),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    program_cleanup();
    return failed;
}
