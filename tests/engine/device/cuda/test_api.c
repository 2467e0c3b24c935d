/*
 * tests/engine/device/cuda/test_api.c - the calls that the CUDA device makes to CUDA's libraries, and its behaviour
 * when they fail.
 *
 * The libraries are a table of the test's own (fake_api.h), and the kernels are loops on the host. Products and
 * convolutions leave their results unchanged; the events must nevertheless be those of the CPU. Built where there is a
 * CUDA toolkit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "engine/device/cuda/cuda_internal.h"
#include "lang/run/run.h"
#include "replay/trace/trace.h"
#include "tests/engine/device/cuda/fake_api.h"
#include "tests/facts/facts.h"
#include "tracer/recorder.h"

static const char NET[] = "tests/nets/resnet_small.py";

static struct eng_device device_open(void)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    if (cuda_device_open_with(fake_api(), eng_kernels_cpu(), &device, &err))
        fail_msg("%s", err.text);
    return device;
}

/* rec may be NULL. */
static enum vs_status train_net(const char *path, const struct eng_device *device,
                                const char *toggles, struct trc_recorder *rec, struct vs_error *err)
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
    settings.observer = rec ? trc_recorder_observer(rec) : NULL;
    st = lang_run(&settings, &result, err);
    lang_result_release(&result);
    vs_toggles_release(&set);
    facts_net_release(&net);
    return st;
}

static enum vs_status train(const struct eng_device *device, const char *toggles,
                            struct vs_error *err)
{
    return train_net(NET, device, toggles, NULL, err);
}

/* Every event is there. Returns those of memory that was short. */
static uint64_t count_ooms(struct rpl_trace *trace, uint64_t events)
{
    struct rpl_scan *scan = vs_calloc(1, sizeof(*scan));
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *ev;
    uint64_t ooms = 0;

    assert_int_equal(rpl_trace_event_count(trace), events);
    rpl_scan_init(scan, trace, 1, events);
    while ((ev = rpl_scan_next(scan, &err)) != NULL) {
        ooms += ev->kind == VS_EV_OOM;
        events--;
    }
    if (scan->status || events)
        fail_msg("%d events are missing: %s", (int)events, err.text);
    vs_free(scan);
    return ooms;
}

/*
 * The same into a file, which has to be readable to its last event however the run ended. Adds its out-of-memory
 * events.
 */
static enum vs_status train_recorded(const struct eng_device *device, const char *toggles,
                                     uint64_t *ooms, struct vs_error *err)
{
    struct trc_recorder_options options = {.force = true};
    struct vs_error own = VS_ERROR_INIT;
    struct trc_recorder_stats stats;
    struct rpl_trace *trace = NULL;
    struct trc_recorder *rec;
    char path[] = "/tmp/vramscope-api-XXXXXX";
    int file = mkstemp(path);
    enum vs_status st;

    assert_true(file >= 0);
    close(file);
    if (trc_recorder_open(path, &options, &rec, &own))
        fail_msg("%s", own.text);
    st = train_net(NET, device, toggles, rec, err);
    trc_recorder_stats(rec, &stats);
    if (trc_recorder_close(rec, !st, &own) || rpl_trace_open(path, &trace, &own))
        fail_msg("after %s: %s", err->text, own.text);
    assert_int_equal(rpl_trace_is_complete(trace), !st);
    *ooms += count_ooms(trace, stats.events);
    rpl_trace_free(trace);
    unlink(path);
    return st;
}

/* Its weights are made on the host: they have to be brought over before a library sees them. */
static void weights_made_on_the_host_are_copied_to_the_device(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    (void)state;
    fake_begin(FAKE_COUNT, 0);
    device = device_open();
    assert_int_equal(
        train_net("tests/nets/ops/interpolate_bicubic.py", &device, "steps=1", NULL, &err), VS_OK);
    device.close();
    assert_true(fake_calls(FAKE_cublasGemmStridedBatchedEx) > 0);
    assert_int_equal(fake_left(), 0);
}

static void a_run_releases_all_device_memory(void **state)
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

struct memory_calls {
    uint64_t taken;
    uint64_t taken_bytes;
    uint64_t given;
    uint64_t created;
};

static void on_memory(void *user, enum eng_device_memory what, uint64_t address, uint64_t bytes)
{
    struct memory_calls *calls = user;

    assert_true((address != 0) == (what != ENG_DEVICE_CREATED));
    calls->taken += what == ENG_DEVICE_TAKEN;
    calls->taken_bytes += what == ENG_DEVICE_TAKEN ? bytes : 0;
    calls->given += what == ENG_DEVICE_GIVEN;
    calls->created += what == ENG_DEVICE_CREATED;
}

static void a_memory_watcher_sees_every_call_that_allocates_or_frees(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct memory_calls calls = {0, 0, 0, 0};
    struct eng_device device;
    uint64_t before;

    (void)state;
    fake_begin(FAKE_COUNT, 0);
    device = device_open();
    before = fake_calls(FAKE_cudaMalloc);
    device.watch(on_memory, &calls);
    assert_int_equal(train(&device, "steps=1", &err), VS_OK);
    assert_int_equal(train(&device, "steps=1 alloc-conf=expandable_segments:True", &err), VS_OK);
    assert_int_equal(calls.taken, fake_calls(FAKE_cudaMalloc) - before);
    assert_true(calls.taken_bytes >= calls.taken * 512);
    assert_int_equal(calls.given, fake_calls(FAKE_cudaFree));
    assert_int_equal(calls.created, fake_calls(FAKE_cuMemCreate));
    assert_true(calls.taken > 0 && calls.given > 0 && calls.created > 0);
    device.watch(NULL, NULL);
    calls = (struct memory_calls){0, 0, 0, 0};
    assert_int_equal(train(&device, "steps=1", &err), VS_OK);
    device.close();
    assert_int_equal(calls.taken + calls.given + calls.created, 0);
    assert_int_equal(fake_left(), 0);
}

/*
 * Failures without consequence: of a version that is only displayed, and of freeing memory that is freed anyway when
 * the device is closed.
 */
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
    case FAKE_cudaMemGetInfo: /* called again only when memory is short */
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
    uint64_t ooms = 0;
    enum vs_status st;

    fake_begin(call, nth);
    st = cuda_device_open_with(fake_api(), eng_kernels_cpu(), &device, err);
    if (!st) {
        st = train_recorded(&device, toggles, &ooms, err);
        device.close();
    }
    if (fake_left() != 0)
        fail_msg("%s, call %d: %d things are not given back", fake_name(call), (int)nth,
                 (int)fake_left());
    return st;
}

static void every_cuda_call_may_fail(void **state)
{
    static const char *const TOGGLES[] = {"steps=1", "steps=1 alloc-conf=expandable_segments:True"};
    int tried = 0;

    (void)state;
    for (int call = 0; call < FAKE_COUNT; call++) {
        for (size_t t = 0; t < 2; t++) {
            /* the first call, and one in the middle of the run */
            for (uint64_t nth = 1; nth <= 7; nth += 6) {
                struct vs_error err = VS_ERROR_INIT;
                enum vs_status st = with_failure((enum fake_call)call, nth, TOGGLES[t], &err);

                if (!fake_has_failed())
                    continue;
                tried++;
                /* a refused allocation is tried once more after the cache was freed */
                if (st == VS_OK && !is_harmless((enum fake_call)call) && call != FAKE_cudaMalloc &&
                    call != FAKE_cuMemCreate && call != FAKE_cuMemAddressReserve)
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

/*
 * From some call on nothing answers any more: that is what was wrong, not memory, and what was taken is given back on
 * our side.
 */
static void lose(const char *toggles, uint64_t after)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;
    uint64_t ooms = 0;
    enum vs_status st;

    fake_lose(after);
    st = cuda_device_open_with(fake_api(), eng_kernels_cpu(), &device, &err);
    if (!st) {
        st = train_recorded(&device, toggles, &ooms, &err);
        device.close();
        if (fake_has_failed() && st != VS_OK && st != VS_E_IO)
            fail_msg("lost after %d calls: %s", (int)after, err.text);
    }
    if (st && !strstr(err.text, "cuda: "))
        fail_msg("lost after %d calls: %s", (int)after, err.text);
    assert_int_equal(ooms, 0);
    if (fake_left() != 0)
        fail_msg("lost after %d calls: %d things are not given back", (int)after, (int)fake_left());
}

static void a_lost_gpu_is_not_reported_as_out_of_memory(void **state)
{
    static const char *const TOGGLES[] = {"steps=1", "steps=1 alloc-conf=expandable_segments:True"};
    struct vs_error err = VS_ERROR_INIT;

    (void)state;
    for (size_t t = 0; t < 2; t++) {
        struct eng_device device;
        uint64_t all;

        fake_begin(FAKE_COUNT, 0);
        device = device_open();
        assert_int_equal(train(&device, TOGGLES[t], &err), VS_OK);
        device.close();
        all = fake_all_calls();
        assert_true(all > 500);
        /* the calls that open the device, one by one, and then here and there */
        for (uint64_t after = 1; after < all - 40; after += after < 40 ? 1 : all / 40)
            lose(TOGGLES[t], after);
    }
}

static cudaError_t old_driver(int *count)
{
    *count = 0;
    return cudaErrorInsufficientDriver;
}

static cudaError_t driver_12_8(int *version)
{
    *version = 12080;
    return cudaSuccess;
}

static cudaError_t runtime_13_0(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

static cudaError_t no_devices(int *count)
{
    *count = 0;
    return cudaSuccess;
}

static void an_old_driver_or_a_missing_gpu_is_reported(void **state)
{
    struct cuda_api api = *fake_api();
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    (void)state;
    fake_begin(FAKE_COUNT, 0);
    api.cudaDriverGetVersion = driver_12_8;
    api.cudaRuntimeGetVersion = runtime_13_0;
    api.cudaGetDeviceCount = old_driver;
    assert_int_equal(cuda_device_open_with(&api, eng_kernels_cpu(), &device, &err),
                     VS_E_UNSUPPORTED);
    assert_non_null(
        strstr(err.text, "the driver is for CUDA 12.8, older than this program's 13.0"));
    api.cudaGetDeviceCount = no_devices;
    assert_int_equal(cuda_device_open_with(&api, eng_kernels_cpu(), &device, &err),
                     VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "there is no GPU on this machine"));
    assert_int_equal(fake_left(), 0);
}

static void a_device_that_fails_to_open_names_the_failing_part(void **state)
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
        cmocka_unit_test(a_run_releases_all_device_memory),
        cmocka_unit_test(weights_made_on_the_host_are_copied_to_the_device),
        cmocka_unit_test(expandable_segments_are_mapped_and_unmapped),
        cmocka_unit_test(a_memory_watcher_sees_every_call_that_allocates_or_frees),
        cmocka_unit_test(every_cuda_call_may_fail),
        cmocka_unit_test(a_lost_gpu_is_not_reported_as_out_of_memory),
        cmocka_unit_test(an_old_driver_or_a_missing_gpu_is_reported),
        cmocka_unit_test(a_device_that_fails_to_open_names_the_failing_part),
    };

    return cmocka_run_group_tests_name("engine/device/cuda/api", tests, NULL, NULL);
}
