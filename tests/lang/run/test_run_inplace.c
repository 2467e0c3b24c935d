/*
 * tests/lang/run/test_run_inplace.c - in-place checks: which modules may overwrite their input, and which results are
 * cached.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lang/run/inplace_checks.h"
#include "tests/lang/run/net_run.h"

/* Three ReLUs: `one` overwrites what sigmoid saved, `skip` what is added again, `two` nothing that anyone needs. */
#define THREE_RELUS                                                                                \
    NET_RUN_HEAD "class Net(nn.Module):\n"                                                         \
                 "    def __init__(self):\n"                                                       \
                 "        super().__init__()\n"                                                    \
                 "        self.a = nn.Linear(4, 3)\n"                                              \
                 "        self.one = nn.ReLU()\n"                                                  \
                 "        self.skip = nn.ReLU()\n"                                                 \
                 "        self.two = nn.ReLU()\n"                                                  \
                 "    def forward(self, x):\n"                                                     \
                 "        x = self.one(torch.sigmoid(self.a(x))) + 1\n"                            \
                 "        x = self.skip(x) + x\n"                                                  \
                 "        return self.two(x)\n"                                                    \
                 "def model():\n"                                                                  \
                 "    return Net()\n"                                                              \
                 "def batch(n):\n"                                                                 \
                 "    return torch.randn(n, 4), torch.randint(0, 3, (n,))\n"

static void in_place_is_refused_where_the_old_value_is_needed(void **state)
{
    struct net_run r = {0};

    (void)state;
    net_run_set(&r, "inplace", "on");
    net_run_ok(&r, THREE_RELUS);
    assert_int_equal(r.result.inplace_count, 1);
    assert_string_equal(r.result.inplace[0], "two");
    assert_int_equal(r.result.refusal_count, 2);
    assert_string_equal(r.result.refusals[0].path, "one");
    assert_non_null(strstr(r.result.refusals[0].reason, "that sigmoid in line 12 of Net.forward"));
    assert_string_equal(r.result.refusals[1].path, "skip");
    assert_string_equal(r.result.refusals[1].reason, "the old value is read again by add");
    net_run_release(&r);
}

static void assert_same_choice(const struct lang_result *a, const struct lang_result *b)
{
    assert_int_equal(a->inplace_count, b->inplace_count);
    for (size_t i = 0; i < a->inplace_count; i++)
        assert_string_equal(a->inplace[i], b->inplace[i]);
    assert_int_equal(a->refusal_count, b->refusal_count);
    for (size_t i = 0; i < a->refusal_count; i++) {
        assert_string_equal(a->refusals[i].path, b->refusals[i].path);
        assert_string_equal(a->refusals[i].reason, b->refusals[i].reason);
    }
}

/* A check is given three toggles only: it runs again where one of these changed. */
static void inplace_checks_serve_all_runs_with_the_same_result(void **state)
{
    static const struct {
        const char *name;
        const char *value;
        bool is_known;
    } turns[] = {
        {"amp", "off", false},         {"amp", "bf16", true},
        {"checkpoint", "skip", false}, {"optimizer", "sgd", true},
        {"checkpoint", "off", true},   {"preserve-rng", "off", false},
        {"preserve-rng", "on", true},  {"checkpoint-impl", "reentrant", false},
    };
    struct lang_inplace_checks *checks = lang_inplace_checks_new();
    struct net_run shared = {.settings = {.inplace_checks = checks}};

    (void)state;
    net_run_set(&shared, "inplace", "on");
    for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
        size_t before = lang_inplace_checks_count(checks);
        struct net_run alone = {0};

        net_run_set(&shared, turns[i].name, turns[i].value);
        vs_toggles_copy(&alone.toggles, &shared.toggles);
        net_run_ok(&alone, THREE_RELUS);
        net_run_ok(&shared, THREE_RELUS);
        assert_same_choice(&shared.result, &alone.result);
        if ((lang_inplace_checks_count(checks) == before) != turns[i].is_known)
            fail_msg("%s=%s: %zu checks, then %zu", turns[i].name, turns[i].value, before,
                     lang_inplace_checks_count(checks));
        lang_result_release(&shared.result);
        net_run_release(&alone);
    }
    vs_toggles_release(&shared.toggles);
    lang_inplace_checks_free(checks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_place_is_refused_where_the_old_value_is_needed),
        cmocka_unit_test(inplace_checks_serve_all_runs_with_the_same_result),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
