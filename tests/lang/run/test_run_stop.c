/*
 * tests/lang/run/test_run_stop.c - a run stops when its caller requests it: between phases, within a phase, within a
 * backward.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/lang/run/net_run.h"

static bool stop_after_forward(void *user, const struct lang_progress *progress)
{
    int *calls = user;

    (*calls)++;
    assert_int_equal(progress->steps, 3);
    return progress->phase != VS_PHASE_FORWARD;
}

static void the_run_stops_when_progress_returns_false(void **state)
{
    struct net_run r = {0};
    int calls = 0;

    (void)state;
    r.settings.user = &calls;
    r.settings.progress = stop_after_forward;
    net_run_text(&r, NET_RUN_MLP);
    assert_int_equal(r.st, VS_E_STOPPED);
    assert_int_equal(calls, 3);
    net_run_release(&r);
}

/* calls: of stop_at; most: the call that stops the run; phases: those that ended */
struct stopper {
    int calls;
    int most;
    int phases;
};

static bool stop_at(void *user)
{
    struct stopper *stopper = user;

    return ++stopper->calls == stopper->most;
}

static bool count_phase(void *user, const struct lang_progress *progress)
{
    (void)progress;
    ((struct stopper *)user)->phases++;
    return true;
}

/* A forward of some 20,000 turns of a loop: set-up and data take a few hundred statements. */
#define LONG_FORWARD                                                                               \
    NET_RUN_MLP "class Long(Net):\n"                                                               \
                "    def forward(self, x):\n"                                                      \
                "        for i in range(20000):\n"                                                 \
                "            y = i\n"                                                              \
                "        return self.b(self.act(self.a(x)))\n"                                     \
                "def model():\n"                                                                   \
                "    return Long()\n"

/* `inplace` NULL: as it is. The phases that were over when it stopped at call number `most` of stop_at. */
static int phases_before(const char *inplace, int most)
{
    struct stopper stopper = {.most = most};
    struct net_run r = {0};

    r.settings.user = &stopper;
    r.settings.progress = count_phase;
    r.settings.stop = stop_at;
    if (inplace)
        net_run_set(&r, "inplace", inplace);
    net_run_text(&r, LONG_FORWARD);
    assert_int_equal(r.st, VS_E_STOPPED);
    assert_int_equal(stopper.calls, most);
    assert_int_equal(r.result.refusal_count, 0);
    net_run_release(&r);
    return stopper.phases;
}

static void a_run_is_stopped_inside_a_phase_and_inside_an_inplace_check(void **state)
{
    struct stopper stopper = {.most = -1};
    struct net_run r = {0};

    (void)state;
    assert_int_equal(phases_before(NULL, 1), 2); /* set-up and data */
    assert_int_equal(phases_before("on", 1),
                     0); /* in the check, which is before the end of the set-up */
    r.settings.user = &stopper;
    r.settings.stop = stop_at;
    net_run_ok(&r, LONG_FORWARD);
    assert_true(stopper.calls >= 3 * 20000 / 4096);
    net_run_release(&r);
}

/* Graphs of some thousand nodes, one of them made again when it is needed; few statements. */
#define LONG_BACKWARD                                                                              \
    NET_RUN_MLP "from torch.utils.checkpoint import checkpoint\n"                                  \
                "class Long(Net):\n"                                                               \
                "    def middle(self, x):\n"                                                       \
                "        for i in range(200):\n"                                                   \
                "            x = self.act(x)\n"                                                    \
                "        return x\n"                                                               \
                "    def forward(self, x):\n"                                                      \
                "        x = checkpoint(self.middle, self.a(x), use_reentrant=False)\n"            \
                "        for i in range(600):\n"                                                   \
                "            x = self.act(x)\n"                                                    \
                "        return self.b(x)\n"                                                       \
                "def model():\n"                                                                   \
                "    return Long()\n"

static void a_run_is_stopped_within_a_backward(void **state)
{
    int inside = 0;
    int most = 0;
    bool is_stopped;

    (void)state;
    do {
        struct stopper stopper = {.most = ++most};
        struct net_run r = {0};

        r.settings.user = &stopper;
        r.settings.progress = count_phase;
        r.settings.stop = stop_at;
        net_run_text(&r, LONG_BACKWARD);
        is_stopped = r.st == VS_E_STOPPED;
        assert_true(is_stopped || r.st == VS_OK);
        assert_int_equal(stopper.calls, is_stopped ? most : most - 1);
        /* set-up, data, forward and loss are over, this backward is not */
        inside += is_stopped && stopper.phases == 4;
        net_run_release(&r);
    } while (is_stopped);
    /* 600 nodes behind the checkpoint and 200 before, each step */
    assert_true(inside >= 800 / 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_run_stops_when_progress_returns_false),
        cmocka_unit_test(a_run_is_stopped_inside_a_phase_and_inside_an_inplace_check),
        cmocka_unit_test(a_run_is_stopped_within_a_backward),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
