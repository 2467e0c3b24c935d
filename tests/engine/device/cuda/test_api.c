/*
 * tests/engine/device/cuda/test_api.c - what the CUDA device asks of CUDA's libraries, and what it does when they refuse.
 *
 * The libraries are a table of the test's own (fake_api.h), the kernels are loops of the host, so products and convolutions leave their
 * results as they were: the events must be those of the CPU all the same. Built where there is a CUDA toolkit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "engine/device/cuda/cuda_internal.h"
#include "lang/run.h"
#include "tests/engine/device/cuda/fake_api.h"
#include "tests/facts/facts.h"

static const char NET[] = "tests/nets/resnet_small.py";

static struct eng_device device_open(void)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    if (cuda_device_open_with(fake_api(), eng_kernels_cpu(), &device, &err))
        fail_msg("%s", err.text);
    return device;
}

static enum vs_status train_net(const char *path, const struct eng_device *device,
                                const char *toggles, struct vs_error *err)
{
    struct facts_net net = facts_net_read(path);
    struct vs_toggles set = {{NULL}};
    struct lang_settings settings = {.file_name = net.path, .text = net.text, .device = device};
    struct lang_result result;
    enum vs_status st;

    memset(&result, 0, sizeof(result));
    facts_toggles(toggles, &set);
    settings.len = strlen(net.text);
    settings.toggles = &set;
    st = lang_run(&settings, &result, err);
    lang_result_release(&result);
    vs_toggles_release(&set);
    facts_net_release(&net);
    return st;
}

static enum vs_status train(const struct eng_device *device, const char *toggles,
                            struct vs_error *err)
{
    return train_net(NET, device, toggles, err);
}

/* Its weights are made on the host: they have to be brought over before a library sees them. */
static void a_product_of_what_lies_on_the_host_is_brought_over(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    (void)state;
    fake_begin(FAKE_COUNT, 0);
    device = device_open();
    assert_int_equal(train_net("tests/nets/ops/interpolate_bicubic.py", &device, "steps=1", &err),
                     VS_OK);
    device.close();
    assert_true(fake_calls(FAKE_cublasGemmStridedBatchedEx) > 0);
    assert_int_equal(fake_left(), 0);
}

static void a_run_gives_everything_back(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    (void)state;
    fake_begin(FAKE_COUNT, 0);
    device = device_open();
    assert_string_equal(device.info.name, "a table of functions");
    assert_int_equal(device.info.capability, 90);
    assert_int_equal(train(&device, "steps=2", &err), VS_OK);
    device.close();
    assert_int_equal(fake_left(), 0);
    assert_true(fake_calls(FAKE_cudnnConvolutionForward) > 0);
    assert_true(fake_calls(FAKE_cudnnConvolutionBackwardData) > 0);
    assert_true(fake_calls(FAKE_cudnnConvolutionBackwardFilter) > 0);
    assert_true(fake_calls(FAKE_cublasGemmStridedBatchedEx) > 0);
    assert_int_equal(fake_calls(FAKE_cudaMalloc), fake_calls(FAKE_cudaFree));
}

static void expandable_segments_are_mapped_and_unmapped(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    (void)state;
    fake_begin(FAKE_COUNT, 0);
    device = device_open();
    assert_int_equal(train(&device, "steps=1 alloc-conf=expandable_segments:True", &err), VS_OK);
    device.close();
    assert_true(fake_calls(FAKE_cuMemMap) > 0);
    assert_int_equal(fake_calls(FAKE_cuMemMap), fake_calls(FAKE_cuMemUnmap));
    assert_int_equal(fake_calls(FAKE_cuMemCreate), fake_calls(FAKE_cuMemRelease));
    assert_int_equal(fake_left(), 0);
}

struct told {
    uint64_t taken;
    uint64_t taken_bytes;
    uint64_t given;
    uint64_t created;
};

static void on_memory(void *user, enum eng_device_memory what, uint64_t address, uint64_t bytes)
{
    struct told *told = user;

    assert_true((address != 0) == (what != ENG_DEVICE_CREATED));
    told->taken += what == ENG_DEVICE_TAKEN;
    told->taken_bytes += what == ENG_DEVICE_TAKEN ? bytes : 0;
    told->given += what == ENG_DEVICE_GIVEN;
    told->created += what == ENG_DEVICE_CREATED;
}

static void a_watcher_is_told_of_all_memory_while_it_watches(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct told told = {0, 0, 0, 0};
    struct eng_device device;
    uint64_t before;

    (void)state;
    fake_begin(FAKE_COUNT, 0);
    device = device_open();
    before = fake_calls(FAKE_cudaMalloc);
    device.watch(on_memory, &told);
    assert_int_equal(train(&device, "steps=1", &err), VS_OK);
    assert_int_equal(train(&device, "steps=1 alloc-conf=expandable_segments:True", &err), VS_OK);
    assert_int_equal(told.taken, fake_calls(FAKE_cudaMalloc) - before);
    assert_true(told.taken_bytes >= told.taken * 512);
    assert_int_equal(told.given, fake_calls(FAKE_cudaFree));
    assert_int_equal(told.created, fake_calls(FAKE_cuMemCreate));
    assert_true(told.taken > 0 && told.given > 0 && told.created > 0);
    device.watch(NULL, NULL);
    told = (struct told){0, 0, 0, 0};
    assert_int_equal(train(&device, "steps=1", &err), VS_OK);
    device.close();
    assert_int_equal(told.taken + told.given + told.created, 0);
    assert_int_equal(fake_left(), 0);
}

/* Which answers nobody can act on: a version that is only shown, memory that goes away anyhow when the device is closed. */
static bool is_harmless(enum fake_call call)
{
    switch ((int)call) {
    case FAKE_cudaDriverGetVersion:
    case FAKE_cudaRuntimeGetVersion:
    case FAKE_cudaGetLastError:
    case FAKE_cudaStreamDestroy:
    case FAKE_cublasDestroy_v2:
    case FAKE_cudnnDestroy:
    case FAKE_cudnnDestroyTensorDescriptor:
    case FAKE_cudnnDestroyFilterDescriptor:
    case FAKE_cudnnDestroyConvolutionDescriptor:
    case FAKE_cudaFree:
    case FAKE_cuMemAddressFree:
    case FAKE_cuMemUnmap:
    case FAKE_cudaMemGetInfo: /* asked again only when memory is short */
        return true;
    default:
        return false;
    }
}

/* Opens, trains and closes while the nth call of `call` fails. Returns the first failure. */
static enum vs_status with_failure(enum fake_call call, uint64_t nth, const char *toggles,
                                   struct vs_error *err)
{
    struct eng_device device;
    enum vs_status st;

    fake_begin(call, nth);
    st = cuda_device_open_with(fake_api(), eng_kernels_cpu(), &device, err);
    if (!st) {
        st = train(&device, toggles, err);
        device.close();
    }
    if (fake_left() != 0)
        fail_msg("%s, call %d: %d things are not given back", fake_name(call), (int)nth,
                 (int)fake_left());
    return st;
}

static void every_call_may_fail_once(void **state)
{
    static const char *const TOGGLES[] = {"steps=1", "steps=1 alloc-conf=expandable_segments:True"};
    int tried = 0;

    (void)state;
    for (int call = 0; call < FAKE_COUNT; call++) {
        for (size_t t = 0; t < 2; t++) {
            /* the first, and one in the middle of things */
            for (uint64_t nth = 1; nth <= 7; nth += 6) {
                struct vs_error err = VS_ERROR_INIT;
                enum vs_status st = with_failure((enum fake_call)call, nth, TOGGLES[t], &err);

                if (!fake_has_failed())
                    continue;
                tried++;
                /* memory that is not to be had is asked for once more after a cleaning-up */
                if (st == VS_OK && !is_harmless((enum fake_call)call) && call != FAKE_cudaMalloc &&
                    call != FAKE_cuMemCreate && call != FAKE_cuMemMap &&
                    call != FAKE_cuMemSetAccess && call != FAKE_cuMemAddressReserve)
                    fail_msg("%s failed (call %d) and nobody heard of it",
                             fake_name((enum fake_call)call), (int)nth);
                if (st && !err.text[0])
                    fail_msg("%s failed without a word", fake_name((enum fake_call)call));
            }
        }
    }
    print_message("%d failures of %d functions\n", tried, (int)FAKE_COUNT);
    assert_true(tried > 60);
}

static void a_device_that_does_not_open_says_which_part(void **state)
{
    struct cuda_api api = *fake_api();
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    (void)state;
    fake_begin(FAKE_cudaSetDevice, 1);
    assert_int_equal(cuda_device_open_with(&api, eng_kernels_cpu(), &device, &err),
                     VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "opening the GPU"));
    fake_begin(FAKE_cudnnCreate, 1);
    assert_int_equal(cuda_device_open_with(&api, eng_kernels_cpu(), &device, &err),
                     VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "cuDNN"));
    assert_int_equal(fake_left(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_gives_everything_back),
        cmocka_unit_test(a_product_of_what_lies_on_the_host_is_brought_over),
        cmocka_unit_test(expandable_segments_are_mapped_and_unmapped),
        cmocka_unit_test(a_watcher_is_told_of_all_memory_while_it_watches),
        cmocka_unit_test(every_call_may_fail_once),
        cmocka_unit_test(a_device_that_does_not_open_says_which_part),
    };

    return cmocka_run_group_tests_name("engine/device/cuda/api", tests, NULL, NULL);
}
