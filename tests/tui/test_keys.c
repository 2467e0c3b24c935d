/* tests/tui/test_keys.c - the table of keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tui/parts/keys.h"

/* Types `text` in `scope`; the last answer. */
static enum tui_typed type(const char *text, unsigned scope, struct tui_command *out)
{
    struct tui_pending pending;
    enum tui_typed typed = TUI_TYPED_NOTHING;

    memset(&pending, 0, sizeof(pending));
    while (*text)
        typed = tui_keys_type(NULL, &pending, tui_key_parse(&text), scope, out);
    return typed;
}

static void every_action_is_reached_by_each_of_its_keys(void **state)
{
    (void)state;
    for (int i = 0; i < TUI_ACTION_COUNT; i++) {
        enum tui_action action = (enum tui_action)i;
        unsigned scope = tui_action_info(action)->scope;
        struct tui_command command;

        /* a view may have given the key a meaning of its own; the timeline gives none any */
        if (scope == TUI_IN_ANY)
            scope = TUI_IN_TIMELINE;
        for (size_t n = 0;; n++) {
            struct vs_text keys = {NULL, 0, 0};
            bool is_there = tui_action_keys(NULL, action, n, &keys);

            if (is_there) {
                if (type(vs_text_get(&keys), scope, &command) != TUI_TYPED_ACTION)
                    fail_msg("`%s` is no action", vs_text_get(&keys));
                if (command.action != action)
                    fail_msg("`%s` is `%s`, not `%s`", vs_text_get(&keys),
                             tui_action_info(command.action)->name, tui_action_info(action)->name);
            }
            vs_text_release(&keys);
            if (!is_there)
                break;
        }
    }
}

static void action_names_are_unique(void **state)
{
    (void)state;
    for (int i = 0; i < TUI_ACTION_COUNT; i++) {
        enum tui_action found;

        if (*tui_action_info((enum tui_action)i)->name) {
            assert_true(tui_action_find(tui_action_info((enum tui_action)i)->name, &found));
            assert_int_equal(found, i);
        }
    }
}

static void a_count_applies_to_the_next_action(void **state)
{
    struct tui_command command;

    (void)state;
    assert_int_equal(type("20s", TUI_IN_BLOCKS, &command), TUI_TYPED_ACTION);
    assert_int_equal(command.action, TUI_OP_NEXT);
    assert_int_equal(command.count, 20);
    assert_int_equal(type("s", TUI_IN_BLOCKS, &command), TUI_TYPED_ACTION);
    assert_int_equal(command.count, 1);
    assert_false(command.has_count);
    assert_int_equal(type("99999999999999999999s", TUI_IN_BLOCKS, &command), TUI_TYPED_ACTION);
    assert_int_equal(command.count, TUI_COUNT_MAX);
}

static void zero_is_an_action_unless_it_continues_a_count(void **state)
{
    struct tui_command command;

    (void)state;
    assert_int_equal(type("0", TUI_IN_TIMELINE, &command), TUI_TYPED_ACTION);
    assert_int_equal(command.action, TUI_ZOOM_ALL);
    assert_int_equal(type("10s", TUI_IN_TIMELINE, &command), TUI_TYPED_ACTION);
    assert_int_equal(command.count, 10);
}

static void a_key_sequence_waits_for_its_rest_and_escape_cancels_it(void **state)
{
    struct tui_command command;

    (void)state;
    assert_int_equal(type("g", TUI_IN_TIMELINE, &command), TUI_TYPED_PART);
    assert_int_equal(type("gt", TUI_IN_TIMELINE, &command), TUI_TYPED_ACTION);
    assert_int_equal(command.action, TUI_GO_TIMELINE);
    assert_int_equal(type("g<esc>", TUI_IN_TIMELINE, &command), TUI_TYPED_NOTHING);
    assert_int_equal(type("g<esc>s", TUI_IN_TIMELINE, &command), TUI_TYPED_ACTION);
    assert_int_equal(command.action, TUI_OP_NEXT);
    assert_int_equal(type("mx", TUI_IN_TIMELINE, &command), TUI_TYPED_ACTION);
    assert_int_equal(command.arg, 'x');
}

static void keys_are_read_as_they_are_written(void **state)
{
    static const uint32_t KEYS[] = {
        TUI_KEY_LEFT, TUI_KEY_PGDN, TUI_KEY_ENTER, TUI_KEY_ESC, TUI_CTRL('l'), ' ',  '<', 'x',
        0xE9,         0x1F600,      0x1C,          0x1D,        0x1E,          0x1F, 0x7F};

    (void)state;
    for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++) {
        struct vs_text text = {NULL, 0, 0};
        const char *at;

        tui_key_name(KEYS[i], &text);
        at = vs_text_get(&text);
        for (const char *c = at; *c; c++)
            assert_true((unsigned char)*c >= ' ' && *c != 0x7F);
        assert_int_equal(tui_key_parse(&at), KEYS[i]);
        assert_int_equal(*at, 0);
        vs_text_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_action_is_reached_by_each_of_its_keys),
        cmocka_unit_test(action_names_are_unique),
        cmocka_unit_test(a_count_applies_to_the_next_action),
        cmocka_unit_test(zero_is_an_action_unless_it_continues_a_count),
        cmocka_unit_test(a_key_sequence_waits_for_its_rest_and_escape_cancels_it),
        cmocka_unit_test(keys_are_read_as_they_are_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
