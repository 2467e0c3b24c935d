/*
 * tests/tui/test_reasons.c - what helps, and for what does not help, why: in words, without names of exceptions or
 * files.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "tests/e2e/program.h"
#include "tests/tui/session.h"
#include "tui/app.h"

static struct tui_list *list_of(struct tui_app *app)
{
    return app->view_state[app->panes[app->focus]];
}

/* The text of row `row` of the focused view. Heap memory. */
static char *row_text(struct tui_app *app, size_t row)
{
    struct vs_text text = {NULL, 0, 0};

    tui_app_focused(app)->text(app->view_state[app->panes[app->focus]], app, row, &text);
    return vs_text_take(&text);
}

/*
 * Whether the difference of row `row` to the recorded peak is drawn as negative: it may be less than a tenth of a MiB.
 */
static bool is_lower(struct tui_app *app, size_t row)
{
    char *label = row_text(app, row);
    char *save = NULL;
    char *screen;
    bool is = false;

    list_of(app)->at = row;
    screen = session_screen(app, false);
    *strstr(label, "  ") = 0;
    for (char *line = strtok_r(screen, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        /* labels begin in the fourth cell */
        if (strlen(line) > 3 + strlen(label) && strncmp(line + 3, label, strlen(label)) == 0)
            is |= strstr(line + 3 + strlen(label), " -") != NULL;
    free(screen);
    free(label);
    return is;
}

static const char *const NETS[] = {"lenet", "vit_tiny", "variables"};

/* A row either lowers the peak or says why it does not. */
static void every_row_without_effect_says_why(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(NETS) / sizeof(NETS[0]); n++) {
        struct tui_app app;
        char peak[VS_BYTES_TEXT_MAX];
        size_t same = 0;

        session_open(&app, session_trace(NETS[n], NULL), 160, 60);
        vs_bytes_text(app.base.top.allocated, peak);
        session_type(&app, "gWM");
        assert_in_range(list_of(&app)->count, 20, 200);
        for (size_t row = 0; row < list_of(&app)->count; row++) {
            char *text = row_text(&app, row);
            const char *figures = strstr(text, "  ");

            assert_non_null(figures);
            if (strstr(text, "Error:") || strstr(text, ".py"))
                fail_msg("%s: a row of a user has what is for programmers: %s", NETS[n], text);
            if (strcmp(figures + 2, peak) == 0 && strncmp(text, "(as recorded)", 13) != 0 &&
                !is_lower(&app, row))
                fail_msg("%s: no reason: %s", NETS[n], text);
            same += strncmp(figures + 2, peak, strlen(peak)) == 0;
            free(text);
        }
        assert_true(same > 1);
        tui_app_release(&app);
    }
}

/* Below the table stands all of the chosen row, in as many lines as it takes. */
static void the_reason_of_the_chosen_row_is_readable_in_a_small_terminal(void **state)
{
    struct tui_app app;
    struct tui_list *list;
    size_t row = 0;
    char *text;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 80, 24);
    session_type(&app, "gWM");
    list = list_of(&app);
    for (text = row_text(&app, row); !strstr(text, "where as much is alive as before");
         text = row_text(&app, row)) {
        free(text);
        assert_true(++row < list->count);
    }
    free(text);
    list->at = row;
    session_expect(&app, "alive as before");
    tui_app_release(&app);
}

static void a_refused_value_is_refused_in_words(void **state)
{
    struct tui_app app;

    (void)state;
    session_open(&app, session_trace("lenet", NULL), 132, 50);
    session_type(&app, "gw:set checkpoint=nowhere<enter>");
    assert_true(app.is_bad);
    session_expect(&app, "checkpoint=nowhere: ");
    session_expect_not(&app, "Error");
    session_expect_not(&app, "lenet.py:");
    tui_app_release(&app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_without_effect_says_why),
        cmocka_unit_test(the_reason_of_the_chosen_row_is_readable_in_a_small_terminal),
        cmocka_unit_test(a_refused_value_is_refused_in_words),
    };
    int failed = cmocka_run_group_tests_name("reasons", tests, NULL, NULL);

    program_cleanup();
    return failed;
}
