/*
 * tests/tracer/cupti/fake_cupti.c - see fake_cupti.h.
 */
#include "tests/tracer/cupti/fake_cupti.h"

#ifdef VS_CUPTI

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define MOST_BUFFERS 4096
#define MOST_OPS 4096
/* Small, so that there are many. */
#define BUFFER_USED ((size_t)4096)

struct buffer {
    uint8_t *bytes;
    size_t capacity;
    size_t used;
    bool is_device;
};

static struct {
    uint64_t calls[FAKE_CUPTI_COUNT];
    enum fake_cupti_call fails;
    uint64_t nth;
    CUptiResult failure;
    bool has_failed;
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    bool is_on[256];
    CUpti_CallbackFunc callback;
    void *callback_user;
    bool is_callback_on;
    uint64_t ops[MOST_OPS];
    size_t op_count;
    struct buffer buffers[MOST_BUFFERS];
    size_t buffer_count;
    uint32_t correlation;
    uint64_t clock_ns;
    size_t dropped;
} fake;

const char *fake_cupti_name(enum fake_cupti_call call)
{
    static const char *const NAMES[] = {
#define CUPTI_API(name, args) #name,
#include "tracer/cupti/cupti_api.def"
#undef CUPTI_API
    };

    return NAMES[call];
}

void fake_cupti_begin(enum fake_cupti_call call, uint64_t nth, CUptiResult failure)
{
    for (size_t i = 0; i < fake.buffer_count; i++)
        free(fake.buffers[i].bytes);
    memset(&fake, 0, sizeof(fake));
    fake.fails = call;
    fake.nth = nth;
    fake.failure = failure;
    fake.correlation = 100;
    fake.clock_ns = 1000000;
}

uint64_t fake_cupti_calls(enum fake_cupti_call call)
{
    return fake.calls[call];
}

bool fake_cupti_has_failed(void)
{
    return fake.has_failed;
}

uint64_t fake_cupti_left(void)
{
    uint64_t left = fake.op_count + fake.buffer_count + (fake.callback != NULL);

    for (size_t i = 0; i < sizeof(fake.is_on) / sizeof(fake.is_on[0]); i++)
        left += fake.is_on[i];
    return left;
}

static CUptiResult answer(enum fake_cupti_call call)
{
    if (++fake.calls[call] != fake.nth || call != fake.fails)
        return CUPTI_SUCCESS;
    fake.has_failed = true;
    return fake.failure;
}

/* ---- the calls ---- */

/* All of them answer and do no more; those below do. */
#define CUPTI_API(name, args)                                                                      \
    static CUptiResult CUPTIAPI plain_##name args                                                  \
    {                                                                                              \
        return answer(FAKE_##name);                                                                \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "tracer/cupti/cupti_api.def"
#pragma GCC diagnostic pop
#undef CUPTI_API

static CUptiResult CUPTIAPI do_version(uint32_t *version)
{
    *version = CUPTI_API_VERSION;
    return answer(FAKE_cuptiGetVersion);
}

static CUptiResult CUPTIAPI do_result_string(CUptiResult result, const char **text)
{
    *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
            : result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                : "an error of the test";
    return answer(FAKE_cuptiGetResultString);
}

static CUptiResult CUPTIAPI do_register(CUpti_BuffersCallbackRequestFunc requested,
                                        CUpti_BuffersCallbackCompleteFunc completed)
{
    fake.request = requested;
    fake.complete = completed;
    return answer(FAKE_cuptiActivityRegisterCallbacks);
}

static CUptiResult CUPTIAPI do_enable(CUpti_ActivityKind kind)
{
    CUptiResult result = answer(FAKE_cuptiActivityEnable);

    fake.is_on[kind] |= result == CUPTI_SUCCESS;
    return result;
}

static CUptiResult CUPTIAPI do_disable(CUpti_ActivityKind kind)
{
    fake.is_on[kind] = false;
    return answer(FAKE_cuptiActivityDisable);
}

static CUptiResult CUPTIAPI do_flush(uint32_t flag)
{
    fake_cupti_deliver(FAKE_OLDEST_FIRST);
    return answer(FAKE_cuptiActivityFlushAll);
}

static CUptiResult CUPTIAPI do_dropped(CUcontext context, uint32_t stream_id, size_t *dropped)
{
    *dropped = fake.dropped;
    fake.dropped = 0;
    return answer(FAKE_cuptiActivityGetNumDroppedRecords);
}

static CUptiResult CUPTIAPI do_push(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    CUptiResult result = answer(FAKE_cuptiActivityPushExternalCorrelationId);

    if (result == CUPTI_SUCCESS) {
        VS_ASSERT(fake.op_count < MOST_OPS);
        fake.ops[fake.op_count++] = id;
    }
    return result;
}

static CUptiResult CUPTIAPI do_pop(CUpti_ExternalCorrelationKind kind, uint64_t *last_id)
{
    VS_ASSERT(fake.op_count > 0);
    *last_id = fake.ops[--fake.op_count];
    return answer(FAKE_cuptiActivityPopExternalCorrelationId);
}

static CUptiResult CUPTIAPI do_subscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                                         void *user)
{
    CUptiResult result = answer(FAKE_cuptiSubscribe);

    if (result != CUPTI_SUCCESS)
        return result;
    fake.callback = callback;
    fake.callback_user = user;
    *out = (CUpti_SubscriberHandle)&fake;
    return result;
}

static CUptiResult CUPTIAPI do_unsubscribe(CUpti_SubscriberHandle subscriber)
{
    VS_ASSERT(fake.callback);
    fake.callback = NULL;
    return answer(FAKE_cuptiUnsubscribe);
}

static CUptiResult CUPTIAPI do_enable_callback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                               CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    fake.is_callback_on |= enable && id == CUPTI_DRIVER_TRACE_CBID_cuMemCreate;
    return answer(FAKE_cuptiEnableCallback);
}

static CUptiResult CUPTIAPI do_callback_name(CUpti_CallbackDomain domain, uint32_t id,
                                             const char **name)
{
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
        *name = id == CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2 ? "cuMemAlloc_v2" : "cuMemFree_v2";
    else
        *name =
            id == CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020 ? "cudaMalloc_v3020" : "cudaFree_v3020";
    return answer(FAKE_cuptiGetCallbackName);
}

/* ---- buffers ---- */

static size_t bytes_of(const CUpti_Activity *record)
{
    switch ((int)record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
        return sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
        return sizeof(CUpti_ActivityMemoryPool3);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(CUpti_ActivityExternalCorrelation);
    }
    return FAKE_CUPTI_ODD_BYTES;
}

/* As the real one: a record that is not whole ends the list. */
static CUptiResult CUPTIAPI do_next(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
    size_t at = *record ? (size_t)((uint8_t *)*record - buffer) + bytes_of(*record) : 0;
    CUptiResult result = answer(FAKE_cuptiActivityGetNextRecord);

    if (result != CUPTI_SUCCESS)
        return result;
    if (at + sizeof(CUpti_ActivityKind) > valid_bytes ||
        at + bytes_of((CUpti_Activity *)(buffer + at)) > valid_bytes)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(buffer + at);
    return CUPTI_SUCCESS;
}

/* The buffer of calls or of the device that is being filled, with `bytes` bytes free. */
static struct buffer *buffer_with(bool is_device, size_t bytes)
{
    struct buffer *b;
    size_t most = 0;

    for (size_t i = fake.buffer_count; i-- > 0;) {
        b = &fake.buffers[i];
        if (b->is_device != is_device)
            continue;
        if (b->used + bytes <= (b->capacity < BUFFER_USED ? b->capacity : BUFFER_USED))
            return b;
        break;
    }
    VS_ASSERT(fake.buffer_count < MOST_BUFFERS && fake.request);
    b = &fake.buffers[fake.buffer_count++];
    *b = (struct buffer){.is_device = is_device};
    fake.request(&b->bytes, &b->capacity, &most);
    VS_ASSERT(b->bytes && ((uintptr_t)b->bytes & 7) == 0 && b->capacity >= bytes && most == 0);
    return b;
}

static void record_add(bool is_device, CUpti_ActivityKind kind, const void *record, size_t bytes)
{
    struct buffer *b;

    if (!fake.is_on[kind & 255])
        return;
    b = buffer_with(is_device, bytes);
    memcpy(b->bytes + b->used, record, bytes);
    b->used += bytes;
}

void fake_cupti_record(const void *record, size_t bytes)
{
    struct buffer *b = buffer_with(true, bytes);

    memcpy(b->bytes + b->used, record, bytes);
    b->used += bytes;
}

void fake_cupti_drop(uint64_t count)
{
    fake.dropped += count;
}

void fake_cupti_cut(size_t bytes)
{
    for (size_t i = fake.buffer_count; i-- > 0;) {
        if (!fake.buffers[i].is_device)
            continue;
        VS_ASSERT(fake.buffers[i].used >= bytes);
        fake.buffers[i].used -= bytes;
        fake.buffers[i].capacity = fake.buffers[i].used; /* nothing goes behind it */
        return;
    }
    vs_die("there is no buffer to cut");
}

/* ---- delivery ---- */

static void complete_those(bool is_device, bool backwards)
{
    for (size_t k = 0; k < fake.buffer_count; k++) {
        struct buffer *b = &fake.buffers[backwards ? fake.buffer_count - 1 - k : k];

        if (b->bytes && b->is_device == is_device) {
            fake.complete(NULL, 7, b->bytes, b->capacity, b->used);
            b->bytes = NULL;
        }
    }
}

static void *deliver_thread(void *arg)
{
    bool backwards = *(enum fake_cupti_order *)arg == FAKE_NEWEST_FIRST;

    complete_those(backwards, backwards);
    complete_those(!backwards, backwards);
    return NULL;
}

void fake_cupti_deliver(enum fake_cupti_order order)
{
    pthread_t thread;

    if (!fake.complete)
        return;
    VS_ASSERT(pthread_create(&thread, NULL, deliver_thread, &order) == 0);
    pthread_join(thread, NULL);
    fake.buffer_count = 0;
}

void fake_cupti_deliver_buffer(const void *bytes, size_t count)
{
    uint8_t *buffer = NULL;
    size_t capacity = 0;
    size_t most = 0;

    fake.request(&buffer, &capacity, &most);
    VS_ASSERT(count <= capacity);
    memcpy(buffer, bytes, count);
    fake.complete(NULL, 7, buffer, capacity, count);
}

/* ---- what CUDA and the device do ---- */

static uint32_t called(CUpti_ActivityKind kind, CUpti_CallbackId id)
{
    CUpti_ActivityExternalCorrelation tie = {
        .kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
        .externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
        .correlationId = ++fake.correlation,
        .externalId = fake.op_count ? fake.ops[fake.op_count - 1] : 0};
    CUpti_ActivityAPI call = {.kind = kind,
                              .cbid = id,
                              .start = fake.clock_ns,
                              .end = fake.clock_ns + 10,
                              .correlationId = fake.correlation};

    if (fake.op_count)
        record_add(false, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, &tie, sizeof(tie));
    record_add(false, kind, &call, sizeof(call));
    fake.clock_ns += 100;
    return fake.correlation;
}

uint32_t fake_cupti_call(CUpti_CallbackId id)
{
    return called(CUPTI_ACTIVITY_KIND_RUNTIME, id);
}

uint32_t fake_cupti_launch(const char *name, uint64_t ns)
{
    CUpti_ActivityKernel10 kernel;

    memset(&kernel, 0, sizeof(kernel));
    kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kernel.name = name;
    kernel.start = ns ? fake.clock_ns : 0;
    kernel.end = ns ? fake.clock_ns + ns : 0;
    kernel.correlationId = fake_cupti_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    record_add(true, kernel.kind, &kernel, sizeof(kernel));
    return kernel.correlationId;
}

uint32_t fake_cupti_copy(CUpti_ActivityMemcpyKind kind, uint64_t bytes, uint64_t ns)
{
    CUpti_ActivityMemcpy6 copy;

    memset(&copy, 0, sizeof(copy));
    copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    copy.copyKind = (uint8_t)kind;
    copy.bytes = bytes;
    copy.start = fake.clock_ns;
    copy.end = fake.clock_ns + ns;
    copy.correlationId = fake_cupti_call(CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
    record_add(true, copy.kind, &copy, sizeof(copy));
    return copy.correlationId;
}

uint32_t fake_cupti_fill(uint64_t bytes, uint64_t ns)
{
    CUpti_ActivityMemset4 fill;

    memset(&fill, 0, sizeof(fill));
    fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    fill.bytes = bytes;
    fill.start = fake.clock_ns;
    fill.end = fake.clock_ns + ns;
    fill.correlationId = fake_cupti_call(CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020);
    record_add(true, fill.kind, &fill, sizeof(fill));
    return fill.correlationId;
}

void fake_cupti_memory(CUpti_ActivityMemoryOperationType operation, CUpti_ActivityMemoryKind kind,
                       uint64_t address, uint64_t bytes, bool from_driver, const char *source)
{
    bool is_taken = operation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
    CUpti_ActivityMemory4 memory;

    memset(&memory, 0, sizeof(memory));
    memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
    memory.memoryOperationType = operation;
    memory.memoryKind = kind;
    memory.address = address;
    memory.bytes = bytes;
    memory.timestamp = fake.clock_ns;
    memory.source = source;
    memory.correlationId =
        from_driver
            ? called(CUPTI_ACTIVITY_KIND_DRIVER, is_taken ? CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2
                                                          : CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2)
            : fake_cupti_call(is_taken ? CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020
                                       : CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020);
    record_add(true, memory.kind, &memory, sizeof(memory));
}

void fake_cupti_malloc(uint64_t address, uint64_t bytes)
{
    fake_cupti_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
                      CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, address, bytes, false, NULL);
}

void fake_cupti_free(uint64_t address, uint64_t bytes)
{
    fake_cupti_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
                      CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, address, bytes, false, NULL);
}

void fake_cupti_pool(uint64_t bytes)
{
    CUpti_ActivityMemoryPool3 pool;

    memset(&pool, 0, sizeof(pool));
    pool.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
    pool.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED;
    pool.size = bytes;
    pool.correlationId = fake_cupti_call(CUPTI_RUNTIME_TRACE_CBID_cudaMemPoolCreate_v11020);
    record_add(true, pool.kind, &pool, sizeof(pool));
}

void fake_cupti_create(uint64_t bytes, CUresult result)
{
    cuMemCreate_params params = {.size = bytes};
    CUpti_CallbackData data = {.callbackSite = CUPTI_API_ENTER,
                               .functionName = "cuMemCreate",
                               .functionParams = &params,
                               .functionReturnValue = &result};

    if (!fake.callback || !fake.is_callback_on)
        return;
    fake.callback(fake.callback_user, CUPTI_CB_DOMAIN_DRIVER_API,
                  CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &data);
    data.callbackSite = CUPTI_API_EXIT;
    fake.callback(fake.callback_user, CUPTI_CB_DOMAIN_DRIVER_API,
                  CUPTI_DRIVER_TRACE_CBID_cuMemCreate, &data);
}

const struct cupti_api *fake_cupti_api(void)
{
    static const struct cupti_api api = {
        .cuptiActivityEnableAllocationSource = plain_cuptiActivityEnableAllocationSource,
        .cuptiActivityFlushPeriod = plain_cuptiActivityFlushPeriod,
        .cuptiGetContextId = plain_cuptiGetContextId,
        .cuptiGetStreamIdEx = plain_cuptiGetStreamIdEx,
        .cuptiGetDeviceId = plain_cuptiGetDeviceId,
        .cuptiGetVersion = do_version,
        .cuptiGetResultString = do_result_string,
        .cuptiActivityRegisterCallbacks = do_register,
        .cuptiActivityEnable = do_enable,
        .cuptiActivityDisable = do_disable,
        .cuptiActivityFlushAll = do_flush,
        .cuptiActivityGetNextRecord = do_next,
        .cuptiActivityGetNumDroppedRecords = do_dropped,
        .cuptiActivityPushExternalCorrelationId = do_push,
        .cuptiActivityPopExternalCorrelationId = do_pop,
        .cuptiSubscribe = do_subscribe,
        .cuptiUnsubscribe = do_unsubscribe,
        .cuptiEnableCallback = do_enable_callback,
        .cuptiGetCallbackName = do_callback_name,
    };

    return &api;
}

#endif
