/*
 * tests/base/recorded/test_callstack.c - equal frames and equal stacks are stored once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/recorded/callstack.h"

#define STACKS 3000

/* Frame `i` of stack `n`: the digits of n, so that stacks share their outer frames. */
static uint32_t frame_of(struct vs_callstacks *stacks, unsigned n, unsigned i)
{
    struct vs_frame frame = {.func = n + 1, .file = i + 1, .line = n * 3 + i, .kind = (uint8_t)i};

    return vs_callstacks_frame(stacks, &frame);
}

static uint32_t stack_of(struct vs_callstacks *stacks, unsigned n)
{
    struct vs_callstack about = {.op = n % 3, .flags = (uint8_t)(n % 2)};
    uint32_t frames[8];
    size_t count = 0;

    for (unsigned rest = n; rest && count < 8; rest /= 7) {
        frames[count] = frame_of(stacks, rest % 7, (unsigned)count);
        count++;
    }
    return vs_callstacks_add(stacks, frames, count, &about);
}

static void equal_stacks_have_equal_numbers(void **state)
{
    static uint32_t ids[STACKS];
    struct vs_callstacks stacks = {.frames = NULL};

    (void)state;
    for (unsigned n = 0; n < STACKS; n++) {
        ids[n] = stack_of(&stacks, n);
        assert_int_equal(ids[n], n + 1); /* all of them differ */
    }
    for (unsigned n = 0; n < STACKS; n++)
        assert_int_equal(stack_of(&stacks, n), ids[n]);
    assert_int_equal(stacks.count, STACKS);
    assert_true(stacks.frame_count <= 7 * 8);
    vs_callstacks_release(&stacks);
}

static void the_frames_of_an_added_stack_can_be_read_back(void **state)
{
    struct vs_callstacks stacks = {.frames = NULL};
    const struct vs_callstack *stack;
    uint32_t id;

    (void)state;
    for (unsigned n = 0; n < STACKS; n++)
        assert_int_equal(stack_of(&stacks, n), n + 1);
    id = stack_of(&stacks, 2 * 49 + 3 * 7 + 5);
    stack = vs_callstacks_get(&stacks, id);
    assert_int_equal(stack->count, 3);
    assert_int_equal(vs_callstacks_at(&stacks, stack, 0)->func, 6);
    assert_int_equal(vs_callstacks_at(&stacks, stack, 1)->func, 4);
    assert_int_equal(vs_callstacks_at(&stacks, stack, 2)->func, 3);
    assert_int_equal(vs_callstacks_at(&stacks, stack, 2)->line, 2 * 3 + 2);
    vs_callstacks_release(&stacks);
}

static void stacks_with_different_attributes_are_stored_separately(void **state)
{
    struct vs_callstacks stacks = {.frames = NULL};
    struct vs_callstack about = {.op = 0};
    const uint32_t none = vs_callstacks_add(&stacks, NULL, 0, &about);

    (void)state;
    about.flags = VS_STACK_ENGINE;
    assert_int_not_equal(vs_callstacks_add(&stacks, NULL, 0, &about), none);
    about.flags = 0;
    about.cls = 1;
    assert_int_not_equal(vs_callstacks_add(&stacks, NULL, 0, &about), none);
    about.cls = 0;
    assert_int_equal(vs_callstacks_add(&stacks, NULL, 0, &about), none);
    vs_callstacks_release(&stacks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_stacks_have_equal_numbers),
        cmocka_unit_test(the_frames_of_an_added_stack_can_be_read_back),
        cmocka_unit_test(stacks_with_different_attributes_are_stored_separately),
    };

    return cmocka_run_group_tests_name("base/callstack", tests, NULL, NULL);
}
