/*
 * tests/standin/runtime/test_results.c - what the simulated functions return: devices, streams, capture, graphs,
 * occupancy, cuDNN's recurrent networks, NVML, looking functions up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/runtime/simulated.h"
#include "tests/standin/shared.h"

typedef int pointer_out_fn(void **out);
typedef int int_out_fn(void *of, int *out);

static void the_device_has_the_properties_of_the_simulated_gpu(void **state)
{
    char properties[1032];
    char name[256];
    size_t total;
    int value = 0;

    (void)state;
    assert_int_equal(SIMULATED(int (*)(void *, int), "cudaGetDeviceProperties")(properties, 0), 0);
    assert_string_equal(properties, "NVIDIA Tesla T4");
    memcpy(&total, properties + 288, sizeof(total)); /* totalGlobalMem, in CUDA 12 and 13 */
    assert_int_equal(total, (size_t)15095 << 20);
    memcpy(&value, properties + 384, sizeof(value)); /* multiProcessorCount of CUDA 13 */
    assert_int_equal(value, 40);
    assert_int_equal(SIMULATED(int (*)(void *, int), "cudaGetDeviceProperties_v2")(properties, 0),
                     0);
    memcpy(&value, properties + 388, sizeof(value)); /* of CUDA 12 */
    assert_int_equal(value, 40);
    assert_int_equal(SIMULATED(int (*)(int *, int, int), "cudaDeviceGetAttribute")(&value, 75, 1),
                     0);
    assert_int_equal(value, 7);
    assert_int_equal(SIMULATED(int (*)(int *, int, int), "cudaDeviceGetAttribute")(&value, 75, 2),
                     101);
    assert_int_equal(SIMULATED(int (*)(char *, int, int), "cuDeviceGetName")(name, 256, 0), 0);
    assert_string_equal(name, "NVIDIA Tesla T4");
}

static void another_gpu_is_simulated_on_request(void **state)
{
    const struct simulated *simulated = simulated_open();
    size_t available;
    size_t total = 0;
    int value = 0;

    (void)state;
    assert_int_equal(simulated->set("gpu", "a100-80"), 0);
    assert_int_equal(SIMULATED(int (*)(int *, int, int), "cudaDeviceGetAttribute")(&value, 16, 1),
                     0);
    assert_int_equal(value, 108);
    assert_int_equal(simulated->set("memory", "8796093022208"), 0);
    assert_int_equal(SIMULATED(int (*)(size_t *, size_t *), "cudaMemGetInfo")(&available, &total),
                     0);
    assert_int_equal(total, (size_t)1 << 43);
    assert_int_equal(simulated->set("gpu", "gtx"), 1);
    assert_int_equal(simulated->set("memory", "1 TB"), 1);
    assert_int_equal(simulated->set("memory", "0"), 1);
    assert_int_equal(simulated->set("multiprocessors", "8"), 1);
    assert_int_equal(simulated->set("gpu", "t4"), 0);
}

static void occupancy_is_limited_by_threads_and_shared_memory(void **state)
{
    int (*blocks)(int *, const void *, int, size_t) = SIMULATED(
        int (*)(int *, const void *, int, size_t), "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    int value = 0;

    (void)state;
    assert_int_equal(blocks(&value, NULL, 256, 0), 0); /* a T4 holds 1024 threads and 64 KiB */
    assert_int_equal(value, 4);
    assert_int_equal(blocks(&value, NULL, 256, 32 << 10), 0);
    assert_int_equal(value, 2);
    assert_int_equal(blocks(&value, NULL, 32, 0), 0);
    assert_int_equal(value, 16); /* and no more blocks than that */
}

static int is_capturing(void *stream)
{
    int status = -1;

    assert_int_equal(SIMULATED(int_out_fn *, "cudaStreamIsCapturing")(stream, &status), 0);
    return status;
}

static void streams_that_wait_for_a_captured_one_join_its_capture(void **state)
{
    void *first = NULL;
    void *second = NULL;
    void *event = NULL;
    void *graph = NULL;
    unsigned long long id = 0;
    unsigned long long other = 0;
    int status = 0;

    (void)state;
    SIMULATED(pointer_out_fn *, "cudaStreamCreate")(&first);
    SIMULATED(pointer_out_fn *, "cudaStreamCreate")(&second);
    SIMULATED(pointer_out_fn *, "cudaEventCreate")(&event);
    assert_int_equal(is_capturing(first), 0);
    assert_int_equal(SIMULATED(int (*)(void *, int), "cudaStreamBeginCapture")(first, 0), 0);
    assert_int_equal(SIMULATED(int (*)(void *, void *), "cudaEventRecord")(event, first), 0);
    assert_int_equal(
        SIMULATED(int (*)(void *, void *, unsigned), "cudaStreamWaitEvent")(second, event, 0), 0);
    assert_int_equal(is_capturing(second), 1);
    assert_int_equal(
        SIMULATED(int (*)(void *, int *, unsigned long long *, void *, void *, void *, void *),
                  "cudaStreamGetCaptureInfo")(first, &status, &id, NULL, NULL, NULL, NULL),
        0);
    assert_int_equal(
        SIMULATED(int (*)(void *, int *, unsigned long long *, void *, void *, void *),
                  "cudaStreamGetCaptureInfo_v2")(second, &status, &other, NULL, NULL, NULL),
        0);
    assert_true(id != 0 && id == other);
    assert_int_equal(SIMULATED(int (*)(void *, void **), "cudaStreamEndCapture")(first, &graph), 0);
    assert_non_null(graph);
    assert_int_equal(is_capturing(first), 0);
    assert_int_equal(is_capturing(second), 0);
    /* the event is of a capture that has ended */
    assert_int_equal(
        SIMULATED(int (*)(void *, void *, unsigned), "cudaStreamWaitEvent")(second, event, 0), 0);
    assert_int_equal(is_capturing(second), 0);
    assert_int_equal(SIMULATED(int (*)(void *, void **), "cudaStreamEndCapture")(first, &graph), 1);
}

static int called;

static void on_call(void *user)
{
    called += *(int *)user;
}

static void host_functions_in_a_stream_are_called_at_once(void **state)
{
    int one = 1;

    (void)state;
    called = 0;
    assert_int_equal(SIMULATED(int (*)(void *, void (*)(void *), void *),
                               "cudaLaunchHostFunc")(NULL, on_call, &one),
                     0);
    assert_int_equal(called, 1);
}

static void a_user_object_is_destroyed_with_its_last_graph_or_instance(void **state)
{
    int one = 1;
    void *object = NULL;
    void *graph = NULL;
    void *instance = NULL;

    (void)state;
    called = 0;
    assert_int_equal(SIMULATED(int (*)(void **, unsigned), "cudaGraphCreate")(&graph, 0), 0);
    assert_int_equal(SIMULATED(int (*)(void **, void *, void (*)(void *), unsigned, unsigned),
                               "cudaUserObjectCreate")(&object, &one, on_call, 1, 1),
                     0);
    assert_int_equal(SIMULATED(int (*)(void *, void *, unsigned, unsigned),
                               "cudaGraphRetainUserObject")(graph, object, 1, 1),
                     0);
    assert_int_equal(SIMULATED(int (*)(void **, void *, unsigned long long),
                               "cudaGraphInstantiate")(&instance, graph, 0),
                     0);
    assert_int_equal(SIMULATED(int (*)(void *), "cudaGraphDestroy")(graph), 0);
    assert_int_equal(called, 0);
    assert_int_equal(SIMULATED(int (*)(void *), "cudaGraphExecDestroy")(instance), 0);
    assert_int_equal(called, 1);
}

/*
 * An LSTM: 4 gates, inputs 16, hidden 32, 2 layers: (16 + 32) * 32 * 4 + (32 + 32) * 32 * 4 weights, 2 * 2 * 32 * 4
 * biases.
 */
static void the_weights_of_an_lstm_have_cudnns_layout(void **state)
{
    void *rnn = NULL;
    void *matrix = NULL;
    void *bias = NULL;
    size_t size = 0;
    char *space = (char *)(uintptr_t)0x1000;
    char *at = NULL;
    char *bias_at = NULL;
    int type, count, dims[3], strides[3];

    (void)state;
    SIMULATED(pointer_out_fn *, "cudnnCreateRNNDescriptor")(&rnn);
    SIMULATED(pointer_out_fn *, "cudnnCreateTensorDescriptor")(&matrix);
    SIMULATED(pointer_out_fn *, "cudnnCreateTensorDescriptor")(&bias);
    assert_int_equal(
        SIMULATED(int (*)(void *, int, int, int, int, int, int, int, int, int, int, int, int,
                          void *, unsigned),
                  "cudnnSetRNNDescriptor_v8")(rnn, 0, 2, 2, 0, 0, 0, 0, 0, 16, 32, 32, 2, NULL, 0),
        0);
    assert_int_equal(SIMULATED(int (*)(void *, void *, size_t *),
                               "cudnnGetRNNWeightSpaceSize")(NULL, rnn, &size),
                     0);
    assert_int_equal(size, 4 * ((16 + 32) * 32 * 4 + (32 + 32) * 32 * 4 + 2 * 2 * 32 * 4));
    assert_int_equal(
        SIMULATED(
            int (*)(void *, void *, int, size_t, char *, int, void *, char **, void *, char **),
            "cudnnGetRNNWeightParams")(NULL, rnn, 1, size, space, 5, matrix, &at, bias, &bias_at),
        0);
    /* layer 1, the hidden state's second gate */
    assert_int_equal(at - space, 4 * ((16 + 32) * 32 * 4 + 4 * 32 * 32 + 32 * 32));
    assert_int_equal(bias_at - space, 4 * ((16 + 32) * 32 * 4 + (32 + 32) * 32 * 4 + (8 + 5) * 32));
    assert_int_equal(
        SIMULATED(int (*)(void *, int, int *, int *, int *, int *),
                  "cudnnGetTensorNdDescriptor")(matrix, 3, &type, &count, dims, strides),
        0);
    assert_int_equal(dims[1], 32);
    assert_int_equal(dims[2], 32);
    SIMULATED(int (*)(void *), "cudnnDestroyTensorDescriptor")(matrix);
    SIMULATED(int (*)(void *), "cudnnDestroyTensorDescriptor")(bias);
    SIMULATED(int (*)(void *), "cudnnDestroyRNNDescriptor")(rnn);
}

/* 3 + 5 steps, 4 gates, 32 of the hidden state, 2 layers, float. */
static void an_lstm_keeps_at_least_its_gates_for_backward(void **state)
{
    int (*sizes)(void *, void *, int, void *, size_t *, size_t *) = SIMULATED(
        int (*)(void *, void *, int, void *, size_t *, size_t *), "cudnnGetRNNTempSpaceSizes");
    const int lengths[2] = {3, 5};
    void *rnn = NULL;
    void *data = NULL;
    size_t workspace = 1;
    size_t reserve = 1;

    (void)state;
    SIMULATED(pointer_out_fn *, "cudnnCreateRNNDescriptor")(&rnn);
    SIMULATED(pointer_out_fn *, "cudnnCreateRNNDataDescriptor")(&data);
    SIMULATED(int (*)(void *, int, int, int, int, int, int, int, int, int, int, int, int, void *,
                      unsigned),
              "cudnnSetRNNDescriptor_v8")
    (rnn, 0, 2, 2, 0, 0, 0, 0, 0, 16, 32, 32, 2, NULL, 0);
    assert_int_equal(SIMULATED(int (*)(void *, int, int, int, int, int, const int *, void *),
                               "cudnnSetRNNDataDescriptor")(data, 0, 0, 5, 2, 16, lengths, NULL),
                     0);
    assert_int_equal(sizes(NULL, rnn, 1, data, &workspace, &reserve), 0);
    assert_int_equal(reserve, (3 + 5) * 4 * 32 * 2 * 4);
    assert_int_equal(workspace, 0);
    assert_int_equal(sizes(NULL, rnn, 0, data, NULL, &reserve), 0); /* inference */
    assert_int_equal(reserve, 0);
    assert_non_null(strstr(simulated_log(), "reserve of recurrent networks"));
    SIMULATED(int (*)(void *), "cudnnDestroyRNNDataDescriptor")(data);
    SIMULATED(int (*)(void *), "cudnnDestroyRNNDescriptor")(rnn);
}

static void a_library_with_the_runtime_linked_in_is_named(void **state)
{
    const void *table = &table;

    (void)state;
    assert_int_equal(SIMULATED(int (*)(const void **, const void *),
                               "cuGetExportTable")(&table, "0123456789abcdef"),
                     801);
    assert_null(table);
    assert_non_null(strstr(simulated_log(),
                           "unknown libcuda.so.1 cuGetExportTable: test_results has "
                           "CUDA's runtime linked in\n"));
}

static void library_versions_are_those_that_were_set(void **state)
{
    int value = 0;

    (void)state;
    simulated_open()->set_versions(90100, 0);
    assert_int_equal(SIMULATED(size_t(*)(void), "cudnnGetVersion")(), 90100);
    assert_int_equal(SIMULATED(int (*)(int, int *), "cudnnGetProperty")(1, &value), 0);
    assert_int_equal(value, 1);
    assert_int_equal(SIMULATED(int (*)(int *), "cudaRuntimeGetVersion")(&value), 0);
    assert_int_equal(value, 13020);
}

/* The host's side of a kernel: its address is its name. */
static const char KERNEL_STUB[1] = "";

/* What a compiled program does when it is loaded and at <<<…>>>: the launch succeeds, and nothing runs. */
static void kernels_of_an_extension_are_registered_and_launched(void **state)
{
    static const int IMAGE[4] = {0x466243b1, 1, 0, 0}; /* a wrapper of a fat binary */
    struct dim {
        unsigned x, y, z;
    } grid = {7, 1, 1}, block = {256, 1, 1}, popped_grid, popped_block;
    void *stream = (void *)(uintptr_t)0x51;
    void *popped_stream = NULL;
    size_t shared = 0;
    int attributes[36];
    void **binary = SIMULATED(void **(*)(const void *), "__cudaRegisterFatBinary")(IMAGE);

    (void)state;
    assert_non_null(binary);
    SIMULATED(void (*)(void **, const void *, char *, const char *, int, void *, void *, void *,
                       void *, int *),
              "__cudaRegisterFunction")
    (binary, KERNEL_STUB, NULL, "add", -1, NULL, NULL, NULL, NULL, NULL);
    SIMULATED(void (*)(void **), "__cudaRegisterFatBinaryEnd")(binary);
    assert_int_equal(SIMULATED(unsigned (*)(struct dim, struct dim, size_t, void *),
                               "__cudaPushCallConfiguration")(grid, block, 48, stream),
                     0);
    assert_int_equal(SIMULATED(int (*)(struct dim *, struct dim *, size_t *, void **),
                               "__cudaPopCallConfiguration")(&popped_grid, &popped_block, &shared,
                                                             &popped_stream),
                     0);
    assert_true(popped_grid.x == 7 && popped_block.x == 256 && shared == 48);
    assert_ptr_equal(popped_stream, stream);
    assert_int_equal(
        SIMULATED(int (*)(const void *, struct dim, struct dim, void **, size_t, void *),
                  "cudaLaunchKernel")(KERNEL_STUB, grid, block, NULL, 48, stream),
        0);
    assert_int_equal(
        SIMULATED(int (*)(void *, const void *), "cudaFuncGetAttributes")(attributes, KERNEL_STUB),
        0);
    SIMULATED(void (*)(void **), "__cudaUnregisterFatBinary")(binary);
}

static void the_size_of_a_plans_workspace_is_named_as_unknown(void **state)
{
    int64_t size = -1;
    int64_t count = 0;

    (void)state;
    assert_int_equal(SIMULATED(int (*)(void *, int, int, int64_t, int64_t *, void *),
                               "cudnnBackendGetAttribute")(NULL, 402, 3, 1, &count, &size),
                     0);
    assert_true(count == 1 && size == 0);
    assert_non_null(strstr(simulated_log(), "unknown cuDNN (workspaces of convolutions)\n"));
}

static void simulated_time_advances_only_with_work(void **state)
{
    void *first = NULL;
    void *second = NULL;
    float ms = -1;
    int (*elapsed)(float *, void *, void *) =
        SIMULATED(int (*)(float *, void *, void *), "cudaEventElapsedTime");
    int (*record)(void *, void *) = SIMULATED(int (*)(void *, void *), "cudaEventRecord");

    (void)state;
    SIMULATED(pointer_out_fn *, "cudaEventCreate")(&first);
    SIMULATED(pointer_out_fn *, "cudaEventCreate")(&second);
    record(first, NULL);
    record(second, NULL);
    assert_int_equal(elapsed(&ms, first, second), 0);
    assert_true(ms > 0.0f && ms < 0.01f); /* nothing ran between, but a program may divide by it */
    for (int i = 0; i < 3; i++)
        SIMULATED(int (*)(void), "cudaLaunchKernel")();
    record(second, NULL);
    assert_int_equal(elapsed(&ms, first, second), 0);
    assert_true(ms > 3.0f && ms < 3.01f);
}

static void functions_of_the_driver_are_found_by_name(void **state)
{
    int (*find)(const char *, void **, unsigned, unsigned long long, int *) =
        SIMULATED(int (*)(const char *, void **, unsigned, unsigned long long, int *),
                  "cudaGetDriverEntryPointByVersion");
    void *function = NULL;
    void *again = NULL;
    int status = -1;

    (void)state;
    assert_int_equal(find("cuMemAlloc", &function, 13020, 0, &status), 0);
    assert_int_equal(status, 0);
    assert_ptr_equal(function, simulated_function("cuMemAlloc_v2"));
    /* one that is not simulated is there, refuses, and is named */
    assert_int_equal(find("cuBlowUp", &function, 13020, 0, &status), 0);
    assert_int_equal(status, 0);
    assert_int_equal(((int (*)(void))(uintptr_t)function)(), 801);
    assert_non_null(strstr(simulated_log(), "unknown libcuda.so.1 cuBlowUp\n"));
    assert_int_equal(find("cuBlowUp", &again, 13020, 0, &status), 0);
    assert_ptr_equal(again, function);
    assert_int_equal(find("malloc", &function, 13020, 0, &status), 0);
    assert_int_equal(status, 1);
    assert_null(function);
}

static void nvml_lists_the_simulated_devices(void **state)
{
    unsigned count = 0;
    void *device = NULL;
    void *same = NULL;
    char uuid[96];
    unsigned long long memory[3];

    (void)state;
    assert_int_equal(SIMULATED(int (*)(unsigned *), "nvmlDeviceGetCount_v2")(&count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(
        SIMULATED(int (*)(unsigned, void **), "nvmlDeviceGetHandleByIndex_v2")(1, &device), 0);
    assert_int_equal(
        SIMULATED(int (*)(void *, char *, unsigned), "nvmlDeviceGetUUID")(device, uuid, 96), 0);
    assert_int_equal(
        SIMULATED(int (*)(const char *, void **), "nvmlDeviceGetHandleByUUID")(uuid, &same), 0);
    assert_ptr_equal(device, same);
    assert_int_equal(
        SIMULATED(int (*)(void *, unsigned long long *), "nvmlDeviceGetMemoryInfo")(device, memory),
        0);
    assert_int_equal(memory[0], memory[1] + memory[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_has_the_properties_of_the_simulated_gpu),
        cmocka_unit_test(another_gpu_is_simulated_on_request),
        cmocka_unit_test(occupancy_is_limited_by_threads_and_shared_memory),
        cmocka_unit_test(streams_that_wait_for_a_captured_one_join_its_capture),
        cmocka_unit_test(host_functions_in_a_stream_are_called_at_once),
        cmocka_unit_test(a_user_object_is_destroyed_with_its_last_graph_or_instance),
        cmocka_unit_test(the_weights_of_an_lstm_have_cudnns_layout),
        cmocka_unit_test(an_lstm_keeps_at_least_its_gates_for_backward),
        cmocka_unit_test(a_library_with_the_runtime_linked_in_is_named),
        cmocka_unit_test(library_versions_are_those_that_were_set),
        cmocka_unit_test(kernels_of_an_extension_are_registered_and_launched),
        cmocka_unit_test(the_size_of_a_plans_workspace_is_named_as_unknown),
        cmocka_unit_test(simulated_time_advances_only_with_work),
        cmocka_unit_test(functions_of_the_driver_are_found_by_name),
        cmocka_unit_test(nvml_lists_the_simulated_devices),
    };

    return cmocka_run_group_tests(tests, simulated_setup, shared_cleanup);
}
