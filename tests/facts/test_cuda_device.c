/*
 * tests/facts/test_cuda_device.c - whole runs on the CUDA device: the events of the CPU, and its losses but for rounding.
 *
 * The device is the plug-in made of host memory (tests/engine/device/twin/): the same kernels as loops, found and opened as the real one
 * is. Its driver gives addresses as the counted one does, so that the traces are the same in every word.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/plugin.h"
#include "tests/facts/facts.h"
#include "tests/facts/grid.h"

/* Beside the program under test. */
static void point_at_twin(void)
{
    const char *program = getenv("VRAMSCOPE");
    char folder[4096];
    char *slash;

    snprintf(folder, sizeof(folder), "%s", program ? program : "build/vramscope");
    slash = strrchr(folder, '/');
    assert_non_null(slash);
    snprintf(slash, sizeof(folder) - (size_t)(slash - folder), "/twin");
    setenv("VRAMSCOPE_PLUGINS", folder, 1);
}

static struct eng_device device_open(void)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    point_at_twin();
    if (eng_device_open("cuda", &device, &err))
        fail_msg("%s", err.text);
    return device;
}

/* Losses of every step within `bound` of each other, relatively. */
static void losses_agree(const char *what, const struct facts_run *a, const struct facts_run *b,
                         double bound)
{
    assert_int_equal(a->result.step_count, b->result.step_count);
    for (size_t i = 0; i < a->result.step_count; i++) {
        double x = a->result.steps[i].loss;
        double y = b->result.steps[i].loss;

        if (a->result.steps[i].loss_known != b->result.steps[i].loss_known ||
            (a->result.steps[i].loss_known && !(fabs(x - y) <= bound * fmax(fabs(x), 1.0))))
            fail_msg("%s: loss %zu is %.9g on the device, %.9g on the CPU", what, i, x, y);
    }
}

static void compare(const char *path, const char *toggles, double bound)
{
    struct eng_device device = device_open();
    struct facts_net net = facts_net_read(path);
    struct facts_run cpu = facts_run_net(&net, toggles, true, NULL);
    struct facts_run cuda = facts_run_net_on(&net, toggles, &device);

    facts_same(path, cuda.trace, "cuda", cpu.trace, "cpu");
    losses_agree(path, &cuda, &cpu, bound);
    facts_run_release(&cuda);
    facts_run_release(&cpu);
    facts_net_release(&net);
    device.close();
}

static void small_nets_have_the_events_and_losses_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < FACTS_SMALL_COUNT; i++)
        compare(FACTS_SMALL[i], "steps=2", 1e-4);
}

static void half_precision_and_recomputation_do_too(void **state)
{
    static const char *const NETS[] = {"tests/nets/conv_small.py", "tests/nets/gpt_tiny.py",
                                       "tests/nets/resnet_small.py", "tests/nets/vit_small.py"};

    (void)state;
    for (size_t i = 0; i < sizeof(NETS) / sizeof(NETS[0]); i++) {
        compare(NETS[i], "steps=2 amp=fp16", 1e-2);
        compare(NETS[i], "steps=2 amp=bf16", 4e-2);
        compare(NETS[i], "steps=2 checkpoint=blocks inplace=on", 1e-4);
    }
}

/* A kernel that was added for the CPU alone would be called all the same. */
static void no_kernel_is_missing(void **state)
{
    struct eng_device device = device_open();

    (void)state;
    for (size_t at = 0; at < sizeof(*device.kernels); at += sizeof(void *)) {
        void *entry;

        memcpy(&entry, (const char *)device.kernels + at, sizeof(entry));
        if (!entry)
            fail_msg("entry %zu of struct eng_kernels is NULL", at / sizeof(void *));
    }
    device.close();
}

static void a_plugin_that_is_not_there_is_named(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    (void)state;
    setenv("VRAMSCOPE_PLUGINS", "/nonexistent", 1);
    assert_int_equal(eng_device_open("nosuch", &device, &err), VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "nosuch"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_nets_have_the_events_and_losses_of_the_cpu),
        cmocka_unit_test(half_precision_and_recomputation_do_too),
        cmocka_unit_test(no_kernel_is_missing),
        cmocka_unit_test(a_plugin_that_is_not_there_is_named),
    };

    return cmocka_run_group_tests_name("facts/cuda_device", tests, NULL, NULL);
}
