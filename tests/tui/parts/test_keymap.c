/*
 * tests/tui/parts/test_keymap.c - keys of the user's own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tui/parts/keymap.h"

static void bind(struct tui_keymap *map, const char *words, unsigned line)
{
    struct vs_error err = VS_ERROR_INIT;

    if (tui_keymap_bind(map, words, line, &err))
        fail_msg("`%s`: %s", words, err.text);
}

static void expect_refused(struct tui_keymap *map, const char *words, const char *why)
{
    struct vs_error err = VS_ERROR_INIT;
    enum tui_action action;
    char before[200];

    assert_true(tui_action_find("op", &action));
    snprintf(before, sizeof(before), "%s", tui_keys_of(map, action));
    if (tui_keymap_bind(map, words, 9, &err) != VS_E_VALUE)
        fail_msg("`%s` is not refused", words);
    if (!strstr(err.text, why))
        fail_msg("`%s`: `%s`, without `%s`", words, err.text, why);
    assert_string_equal(tui_keys_of(map, action), before);
}

/* The action of `text`, typed in full in `scope`; TUI_ACTION_COUNT: none. */
static enum tui_action typed(const struct tui_keymap *map, const char *text, unsigned scope)
{
    struct tui_pending pending;
    struct tui_command command;
    enum tui_typed got = TUI_TYPED_NOTHING;

    memset(&pending, 0, sizeof(pending));
    while (*text)
        got = tui_keys_type(map, &pending, tui_key_parse(&text), scope, &command);
    return got == TUI_TYPED_ACTION ? command.action : TUI_ACTION_COUNT;
}

static void a_bound_key_replaces_those_of_the_table(void **state)
{
    struct tui_keymap map = {{NULL}, {0}};

    (void)state;
    bind(&map, "op <C-n> gn", 1);
    assert_int_equal(typed(&map, "<C-n>", TUI_IN_TIMELINE), TUI_OP_NEXT);
    assert_int_equal(typed(&map, "gn", TUI_IN_TIMELINE), TUI_OP_NEXT);
    assert_int_equal(typed(&map, "s", TUI_IN_TIMELINE), TUI_ACTION_COUNT);
    assert_int_equal(typed(NULL, "s", TUI_IN_TIMELINE), TUI_OP_NEXT);
    tui_keymap_release(&map);
}

static void a_key_is_taken_from_the_action_of_the_table(void **state)
{
    struct tui_keymap map = {{NULL}, {0}};

    (void)state;
    bind(&map, "op j", 1);
    assert_int_equal(typed(&map, "j", TUI_IN_BLOCKS), TUI_OP_NEXT);
    assert_int_equal(typed(&map, "<down>", TUI_IN_BLOCKS), TUI_DOWN);
    tui_keymap_release(&map);
}

/* In the diff views `n` has a meaning of its own in the table. */
static void a_key_of_a_view_takes_precedence_there(void **state)
{
    struct tui_keymap map = {{NULL}, {0}};

    (void)state;
    bind(&map, "op n", 1);
    assert_int_equal(typed(&map, "n", TUI_IN_BLOCKS), TUI_OP_NEXT);
    assert_int_equal(typed(&map, "n", TUI_IN_DIFF), TUI_DIFF_NEXT);
    tui_keymap_release(&map);
}

static void an_action_without_a_name_is_bound_by_its_first_key(void **state)
{
    struct tui_keymap map = {{NULL}, {0}};

    (void)state;
    bind(&map, "/ <C-s>", 1);
    bind(&map, "m<any> g'<any>", 2);
    assert_int_equal(typed(&map, "<C-s>", TUI_IN_BLOCKS), TUI_SEARCH);
    assert_int_equal(typed(&map, "g'a", TUI_IN_BLOCKS), TUI_MARK);
    tui_keymap_release(&map);
}

static void an_action_can_be_left_without_keys(void **state)
{
    struct tui_keymap map = {{NULL}, {0}};

    (void)state;
    bind(&map, "quit", 1);
    assert_int_equal(typed(&map, "Q", TUI_IN_BLOCKS), TUI_ACTION_COUNT);
    tui_keymap_release(&map);
}

static void what_cannot_be_bound_is_refused(void **state)
{
    struct tui_keymap map = {{NULL}, {0}};

    (void)state;
    expect_refused(&map, "opp x", "is `op` meant?");
    expect_refused(&map, "op <f99>", "there is no key `<f99>`");
    expect_refused(&map, "op 5x", "which is a count");
    expect_refused(&map, "op abcde", "more than 4 keys");
    expect_refused(&map, "op g", "begins as `gg` does, which is `top`");
    expect_refused(&map, "op sx<any>", "cannot have <any>");
    expect_refused(&map, "m<any> M", "needs <any>");
    expect_refused(&map, "op <mouse>", "not a key that can be typed");
    expect_refused(&map, "op x<esc>", "cancels it");
    bind(&map, "step y", 3);
    expect_refused(&map, "op y", "`y` is `step` already, by line 3");
    expect_refused(&map, "step u", "line 3 has keys for `step` already");
    tui_keymap_release(&map);
}

static void hints_name_the_bound_keys(void **state)
{
    struct tui_keymap map = {{NULL}, {0}};
    struct vs_text text = {NULL, 0, 0};

    (void)state;
    bind(&map, "op-back <C-p>", 1);
    bind(&map, "pane <f2>", 2);
    bind(&map, "peak", 3);
    tui_keymap_hint(&map, TUI_IN_TIMELINE, "s/S", &text);
    assert_string_equal(vs_text_get(&text), "s/<C-p>");
    vs_text_clear(&text);
    tui_keymap_hint(&map, TUI_IN_TIMELINE, "tab", &text);
    assert_string_equal(vs_text_get(&text), "<f2>");
    vs_text_clear(&text);
    tui_keymap_hint(&map, TUI_IN_TIMELINE, "gp", &text);
    assert_string_equal(vs_text_get(&text), ":peak");
    vs_text_clear(&text);
    tui_keymap_hint(&map, TUI_IN_TIMELINE, "/", &text);
    assert_string_equal(vs_text_get(&text), "/");
    vs_text_release(&text);
    tui_keymap_release(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_key_replaces_those_of_the_table),
        cmocka_unit_test(a_key_is_taken_from_the_action_of_the_table),
        cmocka_unit_test(a_key_of_a_view_takes_precedence_there),
        cmocka_unit_test(an_action_without_a_name_is_bound_by_its_first_key),
        cmocka_unit_test(an_action_can_be_left_without_keys),
        cmocka_unit_test(what_cannot_be_bound_is_refused),
        cmocka_unit_test(hints_name_the_bound_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
