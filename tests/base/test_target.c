/*
 * tests/base/test_target.c - the table of GPUs, and the toggle `target`, which accepts each of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/target.h"
#include "base/toggle.h"

static void every_gpu_is_found_by_name_and_is_a_legal_target(void **state)
{
    char buf[VS_TOGGLE_VALUE_MAX];
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_target *target;
    size_t count = 0;

    (void)state;
    for (; (target = vs_target_at(count)) != NULL; count++) {
        assert_ptr_equal(vs_target_find(target->name), target);
        assert_int_equal(vs_toggle_check(VS_TOGGLE_TARGET, target->name, buf, &err), VS_OK);
        assert_string_equal(buf, target->name);
        assert_true(vs_toggle_choice(VS_TOGGLE_TARGET, count + 1, buf));
        assert_string_equal(buf, target->name);
    }
    assert_true(count >= 12);
    assert_false(vs_toggle_choice(VS_TOGGLE_TARGET, count + 1, buf));
}

static void none_and_unknown_names_are_not_gpus(void **state)
{
    char buf[VS_TOGGLE_VALUE_MAX];
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_null(vs_target_find("none"));
    assert_null(vs_target_find("a100"));
    assert_int_equal(vs_toggle_check(VS_TOGGLE_TARGET, "a100", buf, &err), VS_E_VALUE);
}

/* Per multiprocessor: the programming guide's table of compute capabilities. */
static void threads_follow_from_the_compute_capability(void **state)
{
    const struct vs_target *target;

    (void)state;
    for (size_t i = 0; (target = vs_target_at(i)) != NULL; i++) {
        int capability = target->capability;
        int threads = capability == 75                                            ? 1024
                      : capability == 86 || capability == 89 || capability == 120 ? 1536
                                                                                  : 2048;

        assert_int_equal(target->threads, threads);
        assert_true(target->capacity_bytes > UINT64_C(10) << 30);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gpu_is_found_by_name_and_is_a_legal_target),
        cmocka_unit_test(none_and_unknown_names_are_not_gpus),
        cmocka_unit_test(threads_follow_from_the_compute_capability),
    };

    return cmocka_run_group_tests_name("base/target", tests, NULL, NULL);
}
