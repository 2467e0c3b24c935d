/*
 * tests/lang/interp/test_interp_hold.c - the hold and drop events of tensors.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/toggle.h"
#include "engine/core/observer.h"
#include "lang/run/run.h"
#include "tests/lang/programs.h"

#define MAX_HOLDERS 4096

/* Open holds, and the events about locals, attributes, items and arguments as text. */
struct listener {
    char **strings;
    size_t string_count, string_cap;
    struct vs_location locations[65536];
    uint32_t location_count;
    struct {
        uint64_t block, name, scope;
        uint8_t kind;
    } open[MAX_HOLDERS];
    size_t open_count;
    size_t unmatched;
    uint64_t frees_while_held;
    struct vs_text *text;
};

static uint32_t string_id(void *user, const char *text)
{
    struct listener *l = user;

    for (size_t i = 0; i < l->string_count; i++) {
        if (strcmp(l->strings[i], text) == 0)
            return (uint32_t)i + 1;
    }
    l->strings = vs_grow(l->strings, l->string_count, &l->string_cap, sizeof(*l->strings));
    l->strings[l->string_count++] = vs_strdup(text);
    return (uint32_t)l->string_count;
}

static uint32_t location_id(void *user, const struct vs_location *location)
{
    struct listener *l = user;

    for (uint32_t i = l->location_count; i-- > 0;) {
        if (memcmp(&l->locations[i], location, sizeof(*location)) == 0)
            return i + 1;
    }
    assert_true(l->location_count < sizeof(l->locations) / sizeof(l->locations[0]));
    l->locations[l->location_count++] = *location;
    return l->location_count;
}

static const char *string_of(const struct listener *l, uint64_t id)
{
    return id == 0 ? "" : l->strings[id - 1];
}

static void close_holder(struct listener *l, const struct vs_event *e)
{
    for (size_t i = l->open_count; i-- > 0;) {
        if (l->open[i].block == e->hold.block && l->open[i].name == e->hold.name &&
            l->open[i].scope == e->hold.scope && l->open[i].kind == e->hold.holder) {
            l->open[i] = l->open[--l->open_count];
            return;
        }
    }
    l->unmatched++;
}

static void hear(void *user, const struct vs_event *e)
{
    struct listener *l = user;

    if ((e->kind == VS_EV_HOLD || e->kind == VS_EV_DROP) && e->hold.holder > VS_HOLD_ARGS)
        return; /* the engine's own */
    if (e->kind == VS_EV_HOLD) {
        assert_true(l->open_count < MAX_HOLDERS);
        l->open[l->open_count].block = e->hold.block;
        l->open[l->open_count].name = e->hold.name;
        l->open[l->open_count].scope = e->hold.scope;
        l->open[l->open_count++].kind = e->hold.holder;
    } else if (e->kind == VS_EV_DROP) {
        close_holder(l, e);
    } else if (e->kind == VS_EV_FREE) {
        for (size_t i = 0; i < l->open_count; i++)
            l->frees_while_held += l->open[i].block == e->free.block;
        return;
    } else {
        return;
    }
    if (l->text != NULL)
        vs_text_addf(
            l->text, "%s %s %s of %s, line %" PRIu32 "\n", e->kind == VS_EV_HOLD ? "hold" : "drop",
            vs_holder_name((enum vs_holder)e->hold.holder), string_of(l, e->hold.name),
            string_of(l, e->hold.scope), e->location == 0 ? 0 : l->locations[e->location - 1].line);
}

static void ignore_tensor(void *user, const struct vs_tensor_desc *desc)
{
    (void)user;
    (void)desc;
}

static struct listener *listener_new(struct vs_text *text)
{
    struct listener *l = vs_calloc(1, sizeof(*l));

    l->text = text;
    return l;
}

static void listener_free(struct listener *l)
{
    for (size_t i = 0; i < l->string_count; i++)
        vs_free(l->strings[i]);
    vs_free(l->strings);
    vs_free(l);
}

/* Run a program and compare what was log, and that every drop had its hold. */
static void check(const char *program, const char *expected)
{
    struct vs_text log = {NULL, 0, 0};
    struct vs_text printed = {NULL, 0, 0};
    struct listener *l = listener_new(&log);
    struct eng_observer observer = {l, hear, string_id, location_id, ignore_tensor};

    lang_program_run("net.py", program, strlen(program), NULL, &observer, &printed);
    assert_string_equal(vs_text_get(&printed), "");
    assert_string_equal(vs_text_get(&log), expected);
    assert_int_equal(l->unmatched, 0);
    assert_int_equal(l->frees_while_held, 0);
    listener_free(l);
    vs_text_release(&log);
    vs_text_release(&printed);
}

static void locals_and_parameters_hold_by_name(void **state)
{
    (void)state;
    check("import torch\n"
          "def f(x):\n"
          "    y = x + 1\n"
          "    y = y * 2\n"
          "    del x\n"
          "    return y\n"
          "f(torch.zeros(2, device='cuda'))\n",
          "hold local x of f, line 7\n"
          "hold local y of f, line 3\n"
          "hold local y of f, line 4\n"
          "drop local y of f, line 4\n"
          "drop local x of f, line 5\n"
          "drop local y of f, line 6\n");
}

static void items_are_held_under_the_name_of_their_container(void **state)
{
    (void)state;
    check("import torch\n"
          "def f():\n"
          "    feats = [torch.zeros(1, device='cuda')]\n"
          "    feats.append(torch.zeros(1, device='cuda'))\n"
          "    feats[0] = None\n"
          "    d = {'k': feats}\n"
          "    feats.pop()\n"
          "f()\n",
          "hold item feats[0] of f, line 3\n"
          "hold item feats[1] of f, line 4\n"
          "drop item feats[0] of f, line 5\n"
          "hold item d['k'][1] of f, line 6\n"
          "drop item d['k'][1] of f, line 7\n"
          "drop item feats[1] of f, line 7\n");
}

static void items_that_move_are_emitted_again(void **state)
{
    (void)state;
    check("import torch\n"
          "def f():\n"
          "    x = [1, torch.zeros(1, device='cuda')]\n"
          "    x.pop(0)\n"
          "f()\n",
          "hold item x[1] of f, line 3\n"
          "drop item x[1] of f, line 4\n"
          "hold item x[0] of f, line 4\n"
          "drop item x[0] of f, line 4\n");
}

static void attributes_hold_until_they_or_their_object_are_deleted(void **state)
{
    (void)state;
    check("import torch\n"
          "class A:\n"
          "    pass\n"
          "a = A()\n"
          "a.x = torch.zeros(1, device='cuda')\n"
          "a.x = torch.ones(1, device='cuda')\n"
          "a.y = [a.x]\n"
          "del a\n",
          "hold attr x of A, line 5\n"
          "hold attr x of A, line 6\n"
          "drop attr x of A, line 6\n"
          "hold item y[0] of A, line 7\n"
          "drop attr x of A, line 8\n"
          "drop item y[0] of A, line 8\n");
}

static void a_modules_call_holds_its_arguments(void **state)
{
    (void)state;
    check("import torch\n"
          "class M(torch.nn.Module):\n"
          "    def forward(self, x):\n"
          "        x = None\n"
          "        return 1\n"
          "m = M()\n"
          "m(torch.zeros(1, device='cuda'))\n",
          "hold args M of M, line 7\n"
          "hold local x of M.forward, line 7\n"
          "drop local x of M.forward, line 4\n"
          "drop args M of M, line 7\n");
}

static void closures_hold_captured_tensors_until_they_are_freed(void **state)
{
    (void)state;
    check("import torch\n"
          "def f():\n"
          "    x = torch.zeros(1, device='cuda')\n"
          "    def g():\n"
          "        return x\n"
          "    return g\n"
          "g = f()\n"
          "g = None\n",
          "hold local x of f, line 3\n"
          "drop local x of f, line 8\n");
}

static void module_level_names_hold_tensors(void **state)
{
    (void)state;
    check("import torch\n"
          "x = torch.zeros(1, device='cuda')\n"
          "x = None\n",
          "hold local x of <module>, line 2\n"
          "drop local x of <module>, line 3\n");
}

/*
 * Train a net of tests/nets for three steps: every drop has its hold, and no tensor is freed while a name holds it.
 */
static void check_run(const char *net, const char *toggles)
{
    size_t len;
    char *text = lang_program_read(net, &len);
    struct listener *l = listener_new(NULL);
    struct eng_observer observer = {l, hear, string_id, location_id, ignore_tensor};
    struct vs_toggles set = {0};
    struct lang_settings settings = {.file_name = net,
                                     .text = text,
                                     .len = len,
                                     .observer = &observer,
                                     .toggles = &set,
                                     .seed = 1};
    struct lang_result result = {0};
    struct vs_error err = VS_ERROR_INIT;
    char copy[128];

    (void)snprintf(copy, sizeof(copy), "%s", toggles);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');

        *value++ = '\0';
        assert_int_equal(vs_toggles_set_named(&set, word, value, &err), VS_OK);
    }
    if (lang_run(&settings, &result, &err))
        fail_msg("%s %s: %s", net, toggles, err.text);
    if (l->unmatched != 0 || l->frees_while_held != 0)
        fail_msg("%s %s: %zu drops without a hold, %" PRIu64 " frees of what is held", net, toggles,
                 l->unmatched, l->frees_while_held);
    assert_true(l->location_count > 0);
    lang_result_release(&result);
    vs_toggles_release(&set);
    listener_free(l);
    vs_free(text);
}

static void holders_of_whole_runs_are_consistent(void **state)
{
    static const char *const nets[] = {
        "tests/nets/conv_small.py",      "tests/nets/dense_small.py",
        "tests/nets/ckpt_nested.py",     "tests/nets/unet_small.py",
        "tests/nets/custom_function.py", "tests/nets/gpt_tiny.py",
        "tests/nets/ckpt_sequential.py", "tests/nets/amp_regions.py",
    };
    static const char *const settings[] = {
        "",
        "checkpoint=blocks",
        "checkpoint=blocks checkpoint-impl=reentrant",
        "amp=fp16 optimizer=adamw",
        "grad=no_grad",
        "drop-outputs=on zero-grad=zeros",
        "accumulate=2 optimizer=momentum",
        "half=on",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++) {
        for (size_t k = 0; k < sizeof(settings) / sizeof(settings[0]); k++)
            check_run(nets[i], settings[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locals_and_parameters_hold_by_name),
        cmocka_unit_test(items_are_held_under_the_name_of_their_container),
        cmocka_unit_test(items_that_move_are_emitted_again),
        cmocka_unit_test(attributes_hold_until_they_or_their_object_are_deleted),
        cmocka_unit_test(a_modules_call_holds_its_arguments),
        cmocka_unit_test(closures_hold_captured_tensors_until_they_are_freed),
        cmocka_unit_test(module_level_names_hold_tensors),
        cmocka_unit_test(holders_of_whole_runs_are_consistent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
