/*
 * tests/import/test_stacks.c - the call stacks of a recording are in the trace, every Python frame of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/text.h"
#include "import/derive.h"
#include "tests/import/recording.h"

/* The stack of event number `i` as "func:line func:line …", innermost first; "" if it has none. */
static void stack_check(const struct imp_import *import, size_t i, const char *expected)
{
    struct vs_text text = {NULL, 0, 0};
    uint32_t depth = 0;

    for (size_t f = 0; f < import->frame_count && import->stacks[i]; f++) {
        const struct imp_frame *frame = &import->frames[f];

        if (frame->stack != import->stacks[i])
            continue;
        assert_int_equal(frame->depth, depth++);
        vs_text_addf(&text, "%s%s:%u", text.len ? " " : "", import->strings[frame->func - 1],
                     (unsigned)frame->line);
    }
    if (strcmp(vs_text_get(&text), expected) != 0)
        fail_msg("event %zu: `%s`, should be `%s`", i, vs_text_get(&text), expected);
    vs_text_release(&text);
}

/* The number of the first event of a kind, from `from` on. */
static size_t find(const struct imp_import *import, enum vs_event_kind kind, size_t from)
{
    while (from < import->event_count && import->events[from].kind != kind)
        from++;
    assert_true(from < import->event_count);
    return from;
}

static void every_frame_of_an_events_stack_is_kept(void **state)
{
    struct recording r = {.list = {.events = NULL}};
    struct imp_import import;
    size_t first;
    size_t second;

    (void)state;
    recording_alloc(&r, 1, 512, NET);
    recording_alloc(&r, 2, 512, NULL);
    recording_alloc(&r, 3, 512, NET);
    recording_import(&r, &import);
    imp_derive(&import, &r.list);
    first = find(&import, VS_EV_ALLOC, 0);
    second = find(&import, VS_EV_ALLOC, first + 1);
    stack_check(&import, first,
                "net.py:forward:10 torch/nn/modules/module.py:_call_impl:1750 train.py:main:5");
    stack_check(&import, second, "");
    assert_int_equal(import.stacks[find(&import, VS_EV_ALLOC, second + 1)], import.stacks[first]);
    assert_int_equal(import.frame_count, 3); /* once */
    imp_release(&import);
    recording_release(&r);
}

static void a_free_has_its_own_stack_and_added_events_have_none(void **state)
{
    struct recording r = {.list = {.events = NULL}};
    struct imp_import import;

    (void)state;
    recording_alloc(&r, 1, 512, NET);
    recording_free(&r, 1, 512, "train.py main 7");
    recording_import(&r, &import);
    imp_derive(&import, &r.list);
    stack_check(&import, find(&import, VS_EV_FREE, 0), "train.py:main:7");
    stack_check(&import, find(&import, VS_EV_PHASE, 0), "");
    imp_release(&import);
    recording_release(&r);
}

static void frees_that_repeat_the_stacks_of_allocations_have_none(void **state)
{
    struct recording r = {.list = {.events = NULL}};
    struct imp_import import;

    (void)state;
    recording_alloc(&r, 1, 512, NET);
    recording_free(&r, 1, 512, NET);
    recording_import(&r, &import);
    imp_derive(&import, &r.list);
    stack_check(&import, find(&import, VS_EV_FREE, 0), "");
    imp_release(&import);
    recording_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_frame_of_an_events_stack_is_kept),
        cmocka_unit_test(a_free_has_its_own_stack_and_added_events_have_none),
        cmocka_unit_test(frees_that_repeat_the_stacks_of_allocations_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
