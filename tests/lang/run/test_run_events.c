/*
 * tests/lang/run/test_run_events.c - which events a run emits: the same on every device, and with a shared library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/core/observer.h"
#include "engine/device/kernels.h"
#include "lang/run/library.h"
#include "tests/lang/run/net_run.h"

struct event_hash {
    uint64_t hash;
    uint64_t events;
};

static void hash_event(void *user, const struct vs_event *event)
{
    struct event_hash *h = user;
    uint64_t parts[] = {event->kind,  event->raw.aux, event->raw.a, event->raw.b,
                        event->raw.c, event->raw.d,   event->raw.e};

    if (event->kind == VS_EV_SCALE)
        return;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        h->hash = (h->hash ^ parts[i]) * UINT64_C(0x100000001b3);
    h->events++;
}

static uint32_t hash_string(void *user, const char *text)
{
    uint32_t hash = 5381;

    (void)user;
    for (; *text; text++)
        hash = hash * 33 + (unsigned char)*text;
    return hash | 1;
}

static uint32_t hash_location(void *user, const struct vs_location *location)
{
    (void)user;
    return location->phase + 1;
}

static void ignore_tensor(void *user, const struct vs_tensor_desc *desc)
{
    (void)user, (void)desc;
}

static void meta_and_cpu_emit_the_same_events(void **state)
{
    static const char *const cases[][2] = {
        {"optimizer", "adam"},  {"amp", "bf16"},    {"half", "on"},      {"checkpoint", "a"},
        {"zero-grad", "zeros"}, {"grad", "eval"},   {"accumulate", "2"}, {"inplace", "on"},
        {"detach-loss", "off"}, {"data", "once"},   {"freeze", "a"},     {"drop-outputs", "on"},
        {"optimizer", "adamw"}, {"foreach", "off"}, {"prefetch", "2"},   {"shard", "ddp"},
        {"shard", "zero1"},     {"shard", "fsdp"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct event_hash hashes[2] = {{0}};

        for (int k = 0; k < 2; k++) {
            struct net_run r = {0};
            struct eng_observer observer = {&hashes[k], hash_event, hash_string, hash_location,
                                            ignore_tensor};

            r.settings.kernels = k ? eng_kernels_cpu() : NULL;
            r.settings.observer = &observer;
            net_run_set(&r, cases[i][0], cases[i][1]);
            net_run_ok(&r, NET_RUN_MLP);
            net_run_release(&r);
        }
        if (hashes[0].events != hashes[1].events || hashes[0].hash != hashes[1].hash)
            fail_msg("%s=%s: %d events on meta, %d on cpu, or others", cases[i][0], cases[i][1],
                     (int)hashes[0].events, (int)hashes[1].events);
        assert_true(hashes[0].events > 100);
    }
}

/* How often the two copies of fully_shard ran. */
struct sharding_copies {
    uint32_t strings;
    uint32_t names[2]; /* of split_with_sizes_copy and of _chunk_cat */
    int counts[2];
};

static uint32_t copies_string(void *user, const char *text)
{
    struct sharding_copies *c = user;

    c->strings++;
    if (strcmp(text, "split_with_sizes_copy") == 0)
        c->names[0] = c->strings;
    if (strcmp(text, "_chunk_cat") == 0)
        c->names[1] = c->strings;
    return c->strings;
}

static uint32_t copies_location(void *user, const struct vs_location *location)
{
    (void)user, (void)location;
    return 1;
}

static void copies_event(void *user, const struct vs_event *event)
{
    struct sharding_copies *c = user;

    for (int i = 0; i < 2 && event->kind == VS_EV_OP_BEGIN; i++)
        c->counts[i] += c->names[i] != 0 && event->op.name == c->names[i];
}

/* As in PyTorch: not one by one for each parameter. The net is one unit, which stays gathered for its backward. */
static void a_sharded_unit_is_copied_out_and_reduced_by_one_op_each(void **state)
{
    struct sharding_copies copies = {0};
    struct eng_observer observer = {&copies, copies_event, copies_string, copies_location,
                                    ignore_tensor};
    struct net_run r = {0};

    (void)state;
    r.settings.observer = &observer;
    net_run_set(&r, "shard", "fsdp");
    net_run_set(&r, "steps", "3");
    net_run_ok(&r, NET_RUN_MLP);
    net_run_release(&r);
    assert_int_equal(copies.counts[0], 3);
    assert_int_equal(copies.counts[1], 3);
}

/* With a failure between them: nothing of a run stays in what they share. */
static void a_library_parsed_once_gives_every_run_the_same_events(void **state)
{
    struct lang_library *library = NULL;
    struct event_hash hashes[3] = {{0}};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    assert_int_equal(lang_library_new(&library, &err), VS_OK);
    for (int i = 0; i < 3; i++) {
        const struct eng_observer observer = {&hashes[i], hash_event, hash_string, hash_location,
                                              ignore_tensor};
        struct net_run r = {.settings = {.observer = &observer, .library = i > 0 ? library : NULL}};
        struct net_run wrong = {.settings = {.library = library}};

        net_run_set(&r, "inplace", "on"); /* in-place checks take the same library */
        net_run_ok(&r, NET_RUN_MLP);
        net_run_release(&r);
        net_run_text(&wrong, NET_RUN_MLP "relu = F.nothing\n");
        assert_int_equal(wrong.st, VS_E_NAME);
        net_run_release(&wrong);
    }
    lang_library_free(library);
    assert_true(hashes[0].events > 100);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(hashes[i].events, hashes[0].events);
        assert_true(hashes[i].hash == hashes[0].hash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meta_and_cpu_emit_the_same_events),
        cmocka_unit_test(a_sharded_unit_is_copied_out_and_reduced_by_one_op_each),
        cmocka_unit_test(a_library_parsed_once_gives_every_run_the_same_events),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
