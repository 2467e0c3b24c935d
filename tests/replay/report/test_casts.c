/*
 * tests/replay/report/test_casts.c - copies of autocast: how many, how large, how many of them in its cache.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "replay/report/summary.h"
#include "tests/replay/make_trace.h"

static void cast(struct make *m, uint64_t bytes, enum vs_dtype from, enum vs_dtype to)
{
    (void)make_alloc(m, bytes, VS_CAT_CAST);
    (void)make_event(
        m, (struct vs_event){.kind = VS_EV_CAST,
                             .cast = {.block = m->blocks, .from_dtype = from, .to_dtype = to}});
}

static void json_of(struct make *m, bool is_known, struct vs_text *out)
{
    struct rpl_summary sum = {.events = 0};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_json json;

    if (rpl_summary_fill(&sum, m->trace, &err))
        fail_msg("%s", err.text);
    vs_json_init(&json, out);
    vs_json_object(&json);
    rpl_casts_json(&sum.casts, is_known, &json);
    vs_json_end(&json);
    rpl_summary_release(&sum);
}

/* Three copies to bfloat16, the second one is cached; one back. */
static void copies_count_by_their_dtypes(void **state)
{
    struct vs_text text = {NULL, 0, 0};
    struct make m;

    (void)state;
    make_init(&m);
    make_step(&m, 0);
    cast(&m, 1000, VS_F32, VS_BF16);
    cast(&m, 600, VS_F32, VS_BF16);
    (void)make_hold(&m, VS_EV_HOLD, m.blocks, VS_HOLD_CACHE, "", "");
    (void)make_hold(&m, VS_EV_HOLD, 1, VS_HOLD_LOCAL, "x", "f");
    cast(&m, 40, VS_F32, VS_BF16);
    cast(&m, 80, VS_BF16, VS_F32);
    json_of(&m, true, &text);
    if (!strstr(vs_text_get(&text), "{\"from\": \"bfloat16\", \"to\": \"float32\", \"count\": 1, "
                                    "\"bytes\": 80, \"cached\": 0}") ||
        !strstr(vs_text_get(&text), "{\"from\": \"float32\", \"to\": \"bfloat16\", \"count\": 3, "
                                    "\"bytes\": 1640, \"cached\": 1}"))
        fail_msg("%s", vs_text_get(&text));
    vs_text_release(&text);
    rpl_trace_free(m.trace);
}

static void what_is_not_known_is_null(void **state)
{
    struct vs_text text = {NULL, 0, 0};
    struct make m;

    (void)state;
    make_init(&m);
    json_of(&m, false, &text);
    if (!strstr(vs_text_get(&text), "\"casts\": null"))
        fail_msg("%s", vs_text_get(&text));
    vs_text_release(&text);
    rpl_trace_free(m.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_count_by_their_dtypes),
        cmocka_unit_test(what_is_not_known_is_null),
    };

    return cmocka_run_group_tests_name("replay/report/casts", tests, NULL, NULL);
}
