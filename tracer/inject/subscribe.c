/*
 * tracer/inject/subscribe.c - see subscribe.h.
 *
 * A callback runs on the calling thread, before and after the call. calls.def defines what a call means; `here`
 * contains the state of a thread.
 */
#include "tracer/inject/subscribe.h"

#include <cupti.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tracer/inject/driver.h"
#include "tracer/inject/frames.h"
#include "tracer/inject/lock.h"
#include "tracer/inject/ranges.h"
#include "tracer/inject/session.h"

#define NAME_MAX_BYTES 96
#define KERNEL_MAX 200
#define POOLS_MAX 256
#define HERE UINT32_MAX
#define NOWHERE (UINT32_MAX - 1)
#define OUT_OF_MEMORY 2 /* of the driver and of the runtime */

enum does {
    TAKE,
    TAKE_POOL,
    TAKE_PHYSICAL,
    TAKE_HOST,
    FREE,
    FREE_PHYSICAL,
    FREE_HOST,
    MAP,
    UNMAP,
    RETAIN,
    POOL_MADE,
    LAUNCH,
    WAIT
};

/* The arguments of a call as calls.def interprets them. is_known: the function is in the table. */
struct request {
    uint64_t key;
    uint64_t bytes;
    uint64_t asked;
    uint64_t stream;
    uint32_t device;
    enum does does;
    bool is_known;
};

static struct {
    struct cupti_api api;
    struct {
        uint64_t pool;
        uint32_t device;
    } pools[POOLS_MAX];
    size_t pool_count;
    bool is_ending;
} listener;

/*
 * is_busy: inside a callback. runtime: the current runtime function, or ""; is_reported: it has called a known driver
 * function. kernel: name of the last kernel launched, or "".
 */
static _Thread_local struct {
    bool is_busy;
    bool is_reported;
    char runtime[NAME_MAX_BYTES];
    char kernel[KERNEL_MAX];
} here;

/* ---- the arguments ---- */

static uint32_t pool_device(uint64_t pool)
{
    uint32_t device = HERE;

    inj_lock(INJ_LOCK_POOLS);
    for (size_t i = 0; i < listener.pool_count; i++)
        if (listener.pools[i].pool == pool)
            device = listener.pools[i].device;
    inj_unlock(INJ_LOCK_POOLS);
    return device;
}

/* A pool handle may be reused: the last pool with it counts. */
static void pool_keep(uint64_t pool, uint32_t device)
{
    size_t at = 0;

    inj_lock(INJ_LOCK_POOLS);
    while (at < listener.pool_count && listener.pools[at].pool != pool)
        at++;
    if (at < POOLS_MAX) {
        listener.pools[at].pool = pool;
        listener.pools[at].device = device;
        listener.pool_count += at == listener.pool_count;
    }
    inj_unlock(INJ_LOCK_POOLS);
}

static uint32_t location_device(const CUmemLocation *location)
{
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? (uint32_t)location->id : NOWHERE;
}

static bool is_given(enum does does)
{
    return does == TAKE || does == TAKE_POOL || does == TAKE_PHYSICAL || does == TAKE_HOST ||
           does == RETAIN || does == POOL_MADE;
}

/* Keys that the call returns are read only after success. */
#define AT(location) location_device(&(location))
#define POOL(pool) pool_device((uint64_t)(uintptr_t)(pool))
#define READ(function, what, key_of, bytes_of, asked_of, stream_of, device_of)                     \
    static void read_##function(const void *params, bool is_done, struct request *r)               \
    {                                                                                              \
        const function##_params *p = params;                                                       \
                                                                                                   \
        (void)p;                                                                                   \
        r->is_known = true;                                                                        \
        r->does = what;                                                                            \
        r->stream = (uint64_t)(uintptr_t)(stream_of);                                              \
        r->device = (uint32_t)(device_of);                                                         \
        r->asked = (uint64_t)(uintptr_t)(asked_of);                                                \
        if (is_given(what) && !is_done)                                                            \
            return;                                                                                \
        r->key = (uint64_t)(uintptr_t)(key_of);                                                    \
        r->bytes = (uint64_t)(uintptr_t)(bytes_of);                                                \
    }
#define DRIVER READ
#define RUNTIME READ
#define PLAIN(function, what)
#include "tracer/inject/calls.def"
#undef DRIVER
#undef RUNTIME
#undef PLAIN

static void driver_read(CUpti_CallbackId id, const void *params, bool is_done, struct request *r)
{
    switch (id) {
#define DRIVER(function, what, key_of, bytes_of, asked_of, stream_of, device_of)                   \
    case CUPTI_DRIVER_TRACE_CBID_##function:                                                       \
        read_##function(params, is_done, r);                                                       \
        break;
#define PLAIN(function, what)                                                                      \
    case CUPTI_DRIVER_TRACE_CBID_##function:                                                       \
        *r = (struct request){.does = what, .device = HERE, .is_known = true};                     \
        break;
#define RUNTIME(function, what, key_of, bytes_of, asked_of, stream_of, device_of)
#include "tracer/inject/calls.def"
#undef DRIVER
#undef PLAIN
#undef RUNTIME
    default: /* not an enum of this project: CUPTI has more values */
        break;
    }
}

static void runtime_read(CUpti_CallbackId id, const void *params, bool is_done, struct request *r)
{
    switch (id) {
#define DRIVER(function, what, key_of, bytes_of, asked_of, stream_of, device_of)
#define PLAIN(function, what)
#define RUNTIME(function, what, key_of, bytes_of, asked_of, stream_of, device_of)                  \
    case CUPTI_RUNTIME_TRACE_CBID_##function:                                                      \
        read_##function(params, is_done, r);                                                       \
        break;
#include "tracer/inject/calls.def"
#undef DRIVER
#undef PLAIN
#undef RUNTIME
    default:
        break;
    }
}

/* ---- the caller ---- */

/* Trim version suffixes: "cuMemAlloc_v2" and "cudaMallocAsync_ptsz_v11020" become cuMemAlloc and cudaMallocAsync. */
static void name_trim(const char *name, char *out, size_t size)
{
    static const char *const ENDS[] = {"_ptsz", "_ptds", "_v"};

    snprintf(out, size, "%s", name ? name : "");
    for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
        char *end = strstr(out, ENDS[i]);

        if (end)
            *end = '\0';
    }
}

struct caller {
    struct inj_frame frames[INJ_FRAMES_MAX];
    struct inj_site site;
    char call[NAME_MAX_BYTES];
};

static void caller_fill(struct caller *c, const CUpti_CallbackData *data)
{
    name_trim(data->functionName, c->call, sizeof(c->call));
    c->site = (struct inj_site){.phase = inj_session_phase_now(),
                                .module = inj_range_path(),
                                .call = here.runtime[0] ? here.runtime : c->call,
                                .kernel = here.kernel,
                                .frames = c->frames,
                                .frame_count = inj_frames_get(c->frames, INJ_FRAMES_MAX)};
}

static uint32_t device_of(const struct request *r, const CUpti_CallbackData *data)
{
    uint32_t device = 0;

    if (r->device != HERE)
        return r->device;
    if (!data->context || listener.api.cuptiGetDeviceId(data->context, &device) != CUPTI_SUCCESS)
        return 0;
    return device;
}

/* CUPTI's id of a stream; its handle if it has none. */
static uint64_t stream_of(const struct request *r, const CUpti_CallbackData *data)
{
    uint32_t id = 0;

    if (!r->stream || !data->context)
        return 0;
    if (listener.api.cuptiGetStreamIdEx(data->context, (CUstream)(uintptr_t)r->stream, 0, &id) !=
        CUPTI_SUCCESS)
        return r->stream;
    return id;
}

static enum inj_space space_of(enum does does)
{
    if (does == TAKE_HOST || does == FREE_HOST)
        return INJ_HOST;
    return does == TAKE_PHYSICAL || does == FREE_PHYSICAL ? INJ_PHYSICAL : INJ_DEVICE;
}

static struct inj_call call_of(const struct request *r, const CUpti_CallbackData *data,
                               const struct caller *c)
{
    const bool has_context = r->does == TAKE || r->does == TAKE_HOST;

    return (struct inj_call){.space = space_of(r->does),
                             .device = device_of(r, data),
                             .context = has_context ? data->contextUid : 0,
                             .stream = stream_of(r, data),
                             .site = &c->site};
}

/* ---- calls ---- */

static void device_introduce(uint32_t device)
{
    struct inj_facts facts;

    if (inj_session_knows(device))
        return;
    inj_driver_facts(device, &facts);
    inj_session_introduce(device, &facts);
}

static void take(const struct request *r, const CUpti_CallbackData *data, int result)
{
    struct inj_memory *m;
    struct inj_call call;
    struct caller c;
    uint64_t device_free = 0;

    if (r->device == NOWHERE || (result != 0 && result != OUT_OF_MEMORY) ||
        (result == 0 && r->key == 0))
        return;
    caller_fill(&c, data);
    call = call_of(r, data, &c);
    if (call.space != INJ_HOST)
        device_introduce(call.device);
    if (result == OUT_OF_MEMORY) {
        device_free = inj_driver_free_bytes();
        inj_status_once("oom", "%" PRIu64 " bytes requested, %" PRIu64 " free", r->asked,
                        device_free);
    }
    m = inj_session_lock();
    if (!m)
        return;
    if (result == 0) {
        inj_memory_taken(m, &call, r->key, r->bytes);
    } else {
        inj_memory_refused(m, &call, r->asked, device_free);
        inj_session_commit();
    }
    inj_session_unlock();
}

static void free_begin(const struct request *r, const CUpti_CallbackData *data, uint64_t *token)
{
    struct inj_memory *m;
    struct inj_call call;
    struct caller c;

    caller_fill(&c, data);
    call = call_of(r, data, &c);
    m = inj_session_lock();
    if (!m)
        return;
    *token = inj_memory_free_begin(m, &call, r->key);
    inj_session_unlock();
}

static void free_end(const struct request *r, uint64_t token, int result)
{
    struct inj_memory *m = token ? inj_session_lock() : NULL;

    if (!m)
        return;
    inj_memory_free_end(m, space_of(r->does), r->key, token, result == 0);
    inj_session_unlock();
}

static void mapping_change(const struct request *r, const CUpti_CallbackData *data)
{
    struct inj_memory *m;
    struct inj_call call;
    struct caller c;

    caller_fill(&c, data);
    call = call_of(r, data, &c);
    m = inj_session_lock();
    if (!m)
        return;
    if (r->does == MAP)
        inj_memory_mapped(m, r->key, r->asked, r->bytes);
    else if (r->does == UNMAP)
        inj_memory_unmapped(m, &call, r->key, r->bytes);
    else
        inj_memory_retained(m, r->key, r->asked);
    inj_session_unlock();
}

static void kernel_keep(const CUpti_CallbackData *data)
{
    snprintf(here.kernel, sizeof(here.kernel), "%s",
             data->symbolName ? data->symbolName : "a kernel without a name");
}

static void call_begin(const struct request *r, const CUpti_CallbackData *data)
{
    if (r->does == LAUNCH)
        kernel_keep(data);
    else if (r->does == FREE || r->does == FREE_PHYSICAL || r->does == FREE_HOST)
        free_begin(r, data, data->correlationData);
}

static void call_end(const struct request *r, const CUpti_CallbackData *data, int result)
{
    switch (r->does) {
    case TAKE:
    case TAKE_POOL:
    case TAKE_PHYSICAL:
    case TAKE_HOST:
        take(r, data, result);
        break;
    case FREE:
    case FREE_PHYSICAL:
    case FREE_HOST:
        free_end(r, *data->correlationData, result);
        break;
    case MAP:
    case UNMAP:
    case RETAIN:
        if (result == 0)
            mapping_change(r, data);
        break;
    case POOL_MADE:
        if (result == 0 && r->device != NOWHERE)
            pool_keep(r->key, r->device);
        break;
    case LAUNCH:
    case WAIT:
        break;
    }
}

/* Errors after which a context or the device is unusable. */
static bool is_lost(int result)
{
    static const int ERRORS[] = {46,  214, 220, 226, 700, 702, 709, 710, 714,
                                 715, 716, 717, 718, 719, 720, 721, 722, 999};

    for (size_t i = 0; i < sizeof(ERRORS) / sizeof(ERRORS[0]); i++)
        if (ERRORS[i] == result)
            return true;
    return false;
}

static void result_check(const CUpti_CallbackData *data, int result)
{
    char call[NAME_MAX_BYTES];

    if (!is_lost(result))
        return;
    name_trim(data->functionName, call, sizeof(call));
    inj_session_lost(inj_driver_error(result), call);
}

static void on_driver(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    struct request r = {.is_known = false};
    const bool is_end = data->callbackSite == CUPTI_API_EXIT;
    int result = 0;

    if (is_end)
        memcpy(&result, data->functionReturnValue, sizeof(result));
    driver_read(id, data->functionParams, is_end && result == 0, &r);
    if (!r.is_known)
        return;
    here.is_reported |= r.does != LAUNCH && r.does != WAIT;
    if (is_end)
        call_end(&r, data, result);
    else
        call_begin(&r, data);
    if (result)
        result_check(data, result);
}

/* A runtime function that did not call any known driver function. */
static void unreported_end(const struct request *r, const CUpti_CallbackData *data, int result)
{
    uint64_t token = 0;

    if (r->does != FREE && r->does != FREE_HOST) {
        call_end(r, data, result);
        return;
    }
    if (result == 0)
        free_begin(r, data, &token);
    free_end(r, token, result);
}

static void on_runtime(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
    struct request r = {.is_known = false};
    int result = 0;

    if (data->callbackSite == CUPTI_API_ENTER) {
        name_trim(data->functionName, here.runtime, sizeof(here.runtime));
        here.is_reported = false;
        return;
    }
    memcpy(&result, data->functionReturnValue, sizeof(result));
    runtime_read(id, data->functionParams, result == 0, &r);
    if (r.is_known && !here.is_reported)
        unreported_end(&r, data, result);
    here.runtime[0] = '\0';
}

static void on_resource(CUpti_CallbackId id, const CUpti_ResourceData *data)
{
    const CUpti_CallbackData named = {.functionName = "context destroyed"};
    struct inj_memory *m;
    struct inj_call call = {.space = INJ_DEVICE};
    struct caller c;

    if (id != CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING || listener.is_ending ||
        listener.api.cuptiGetContextId(data->context, &call.context) != CUPTI_SUCCESS)
        return;
    caller_fill(&c, &named);
    call.site = &c.site;
    m = inj_session_lock();
    if (!m)
        return;
    inj_memory_context_gone(m, &call);
    inj_session_unlock();
}

/* Calls made by this library arrive here too, and are ignored. */
static void CUPTIAPI on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data)
{
    (void)user;
    if (here.is_busy || !data || !inj_session_is_on())
        return;
    here.is_busy = true;
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
        on_driver(id, data);
    else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
        on_runtime(id, data);
    else if (domain == CUPTI_CB_DOMAIN_RESOURCE)
        on_resource(id, data);
    here.is_busy = false;
}

/* ---- subscribing ---- */

static bool enable(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
                   CUpti_CallbackId id, const char *name)
{
    CUptiResult result = listener.api.cuptiEnableCallback(1, subscriber, domain, id);

    if (result != CUPTI_SUCCESS)
        inj_status("cupti", "%s cannot be observed: %s", name,
                   cupti_result_text(&listener.api, result));
    return result == CUPTI_SUCCESS;
}

/* Returns how many of the functions CUPTI will report. */
static size_t enable_all(CUpti_SubscriberHandle subscriber)
{
    size_t count = 0;

#define PLAIN(function, what)                                                                      \
    count += enable(subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##function,    \
                    #function);
#define DRIVER(function, what, key_of, bytes_of, asked_of, stream_of, device_of)                   \
    count += enable(subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##function,    \
                    #function);
#define RUNTIME(function, what, key_of, bytes_of, asked_of, stream_of, device_of)                  \
    count += enable(subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_##function,  \
                    #function);
#include "tracer/inject/calls.def"
#undef DRIVER
#undef PLAIN
#undef RUNTIME
    enable(subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING,
           "the end of a context");
    return count;
}

static enum vs_status refused(CUptiResult result, struct vs_error *err)
{
    const char *text = cupti_result_text(&listener.api, result);

    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "another profiler is attached to this program (%s); run it without", text);
    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "not permitted (%s): the administrator allows it with the driver's option "
                       "NVreg_RestrictProfilingToAdminUsers=0",
                       text);
    return vs_fail(err, VS_E_UNSUPPORTED, "calls of the driver cannot be observed: %s", text);
}

enum vs_status inj_subscribe(const struct cupti_api *api, struct vs_error *err)
{
    CUpti_SubscriberHandle subscriber = NULL;
    CUptiResult result;

    listener.api = *api;
    result = listener.api.cuptiSubscribe(&subscriber, on_call, NULL);
    if (result != CUPTI_SUCCESS)
        return refused(result, err);
    if (enable_all(subscriber) > 0)
        return VS_OK;
    listener.api.cuptiUnsubscribe(subscriber);
    return vs_fail(err, VS_E_UNSUPPORTED, "none of CUDA's functions can be observed");
}

void inj_subscribe_ending(void)
{
    listener.is_ending = true;
}
