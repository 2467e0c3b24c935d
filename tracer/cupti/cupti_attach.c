/*
 * tracer/cupti/cupti_attach.c - CUPTI as the source of a session: enabled activities, buffers, explanations of errors.
 *
 * Must not know:  how a session uses records.
 * Invariant:      what was enabled is disabled again, also if the next call fails. A buffer belongs to CUPTI between
 *                 its request and its completion, which may happen on any thread and after the end of the session.
 */
#include "tracer/cupti/cupti_session.h"

#include "tracer/cupti/cupti_session_internal.h"

#ifndef VS_CUPTI

enum vs_status trc_cupti_open(struct trc_cupti **out, struct vs_error *err)
{
    *out = NULL;
    return cupti_api_load(NULL, err);
}

#else

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tracer/cupti/cupti_capture.h"
#include "tracer/cupti/cupti_translate.h"

#define BUFFER_BYTES ((size_t)1 << 20)
/* Full buffers are delivered at least this often, so that the file is nearly up to date. */
#define FLUSH_MS 250

/*
 * RUNTIME and DRIVER are needed for the correlation with ops, which CUPTI reports with the record of a call; nothing
 * else relates a kernel to an op.
 */
static const CUpti_ActivityKind KINDS[] = {
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_DRIVER,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_MEMORY2,
    CUPTI_ACTIVITY_KIND_MEMORY_POOL,
};
#define KIND_COUNT (sizeof(KINDS) / sizeof(KINDS[0]))

#define KIND_MOST 64

#define IDS CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0

struct attached {
    struct cupti_api api;
    struct trc_cupti *session;
    CUpti_SubscriberHandle subscriber;
    size_t kinds_on;
    size_t lengths[KIND_MOST]; /* record lengths by kind, known once another record followed one */
};

/*
 * CUPTI's buffer callbacks have no context argument. A buffer may be completed after the end of the session; it is only
 * freed then.
 */
static struct {
    pthread_mutex_t lock;
    struct attached *attached;
} the = {PTHREAD_MUTEX_INITIALIZER, NULL};

/* ---- buffers ---- */

static void CUPTIAPI on_request(uint8_t **buffer, size_t *bytes, size_t *most_records)
{
    *buffer = vs_alloc(BUFFER_BYTES);
    *bytes = BUFFER_BYTES;
    *most_records = 0; /* no limit */
}

/*
 * Length of the record at `at`: up to the next record. The last one extends to the end of the buffer, or as far as
 * other records of its kind do; bytes after that are the beginning of a truncated record.
 */
static size_t length_of(struct attached *a, uint8_t *buffer, size_t valid_bytes, CUpti_Activity *at,
                        CUpti_Activity **next, size_t *left_out, struct cupti_lost *lost)
{
    size_t *usual = (size_t)at->kind < KIND_MOST ? &a->lengths[at->kind] : NULL;
    CUpti_Activity *behind = at;
    size_t left = (size_t)(buffer + valid_bytes - (uint8_t *)at);

    *next = NULL;
    *left_out = 0;
    if (a->api.cuptiActivityGetNextRecord(buffer, valid_bytes, &behind) == CUPTI_SUCCESS) {
        *next = behind;
        left = (size_t)((uint8_t *)behind - (uint8_t *)at);
        if (usual)
            *usual = left;
    } else if (usual && *usual && left > *usual) {
        lost->cut++;
        *left_out = left - *usual;
        left = *usual;
    }
    return left;
}

/* left_out: number of bytes after the record that are not part of any record; they are captured with it. */
static void take(const struct attached *a, const CUpti_Activity *record, size_t bytes,
                 size_t left_out, struct cupti_lost *lost)
{
    FILE *capture = cupti_session_capture(a->session);
    struct cupti_record ours;

    switch (cupti_translate(record, bytes, &ours)) {
    case CUPTI_READ_OK:
        cupti_capture_record(capture, record, bytes + left_out, cupti_name_offset(record, bytes),
                             ours.name);
        cupti_session_take(a->session, &ours);
        return;
    case CUPTI_READ_UNKNOWN:
        lost->unknown++;
        break;
    case CUPTI_READ_CUT:
        lost->cut++;
        break;
    case CUPTI_READ_OTHER:
        break;
    }
    cupti_capture_record(capture, record, bytes + left_out, 0, NULL);
}

static void take_all(struct attached *a, uint8_t *buffer, size_t valid_bytes, uint64_t dropped)
{
    struct cupti_lost lost = {.dropped = dropped};
    CUpti_Activity *at = NULL;
    CUpti_Activity *next;

    cupti_session_begin(a->session);
    cupti_capture_buffer(cupti_session_capture(a->session), dropped);
    if (valid_bytes &&
        a->api.cuptiActivityGetNextRecord(buffer, valid_bytes, &at) != CUPTI_SUCCESS) {
        lost.cut++;
        at = NULL;
    }
    for (; at; at = next) {
        size_t left_out;
        size_t bytes = length_of(a, buffer, valid_bytes, at, &next, &left_out, &lost);

        take(a, at, bytes, left_out, &lost);
    }
    cupti_capture_buffer_end(cupti_session_capture(a->session));
    cupti_session_end(a->session, &lost);
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream_id, uint8_t *buffer,
                                 size_t bytes, size_t valid_bytes)
{
    size_t dropped = 0;

    (void)bytes;
    pthread_mutex_lock(&the.lock);
    if (the.attached) {
        if (the.attached->api.cuptiActivityGetNumDroppedRecords(context, stream_id, &dropped) !=
            CUPTI_SUCCESS)
            dropped = 0;
        take_all(the.attached, buffer, valid_bytes, dropped);
    }
    pthread_mutex_unlock(&the.lock);
    vs_free(buffer);
}

/* ---- physical memory, for which CUPTI has no records ---- */

static void CUPTIAPI on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data)
{
    const struct attached *a = user;
    const CUpti_CallbackData *call = data;

    if (domain != CUPTI_CB_DOMAIN_DRIVER_API || id != CUPTI_DRIVER_TRACE_CBID_cuMemCreate ||
        call->callbackSite != CUPTI_API_EXIT || *(const CUresult *)call->functionReturnValue)
        return;
    cupti_session_created_seen(a->session,
                               ((const cuMemCreate_params *)call->functionParams)->size);
}

/* ---- the source ---- */

static const char *text_of(const struct attached *a, CUptiResult result)
{
    return result == CUPTI_SUCCESS ? NULL : cupti_result_text(&a->api, result);
}

static const char *push(void *user, uint64_t op_seq)
{
    const struct attached *a = user;

    return text_of(a, a->api.cuptiActivityPushExternalCorrelationId(IDS, op_seq));
}

static const char *pop(void *user)
{
    const struct attached *a = user;
    uint64_t last;

    return text_of(a, a->api.cuptiActivityPopExternalCorrelationId(IDS, &last));
}

static const char *call_name(void *user, uint32_t call, bool is_driver)
{
    const struct attached *a = user;
    const char *name = NULL;

    if (!call || a->api.cuptiGetCallbackName(is_driver ? CUPTI_CB_DOMAIN_DRIVER_API
                                                       : CUPTI_CB_DOMAIN_RUNTIME_API,
                                             call, &name) != CUPTI_SUCCESS)
        return "a function without a name";
    return name;
}

static CUptiResult first_of(CUptiResult a, CUptiResult b)
{
    return a != CUPTI_SUCCESS ? a : b;
}

static CUptiResult switch_off(struct attached *a)
{
    CUptiResult result = CUPTI_SUCCESS;

    while (a->kinds_on)
        result = first_of(result, a->api.cuptiActivityDisable(KINDS[--a->kinds_on]));
    if (a->subscriber)
        result = first_of(result, a->api.cuptiUnsubscribe(a->subscriber));
    a->subscriber = NULL;
    return result;
}

/* If this session enabled nothing, buffers belong to another client and are not flushed. */
static const char *stop(void *user)
{
    struct attached *a = user;
    CUptiResult result = CUPTI_SUCCESS;

    if (a->kinds_on)
        result = a->api.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    result = first_of(result, switch_off(a));
    pthread_mutex_lock(&the.lock);
    the.attached = NULL;
    pthread_mutex_unlock(&the.lock);
    return text_of(a, result);
}

static void release(void *user)
{
    vs_free(user);
}

/* ---- opening ---- */

/* Describe what the user can do about the error. */
static enum vs_status refuse(const struct attached *a, const char *what, CUptiResult result,
                             struct vs_error *err)
{
    const char *name = cupti_result_text(&a->api, result);

    if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
        result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "cupti: the driver lets only root profile (%s); run as root, or set its "
                       "option NVreg_RestrictProfilingToAdminUsers=0",
                       name);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "cupti: another profiler or debugger watches this process (%s); run without "
                       "it",
                       name);
    return vs_fail(err, VS_E_UNSUPPORTED, "cupti: %s: %s", what, name);
}

#define TRY(call, what)                                                                            \
    do {                                                                                           \
        CUptiResult result = (call);                                                               \
        if (result != CUPTI_SUCCESS)                                                               \
            return refuse(a, what, result, err);                                                   \
    } while (0)

/* Subscribe first: if another profiler is active, this is the call that fails. */
static enum vs_status switch_on(struct attached *a, struct vs_error *err)
{
    TRY(a->api.cuptiSubscribe(&a->subscriber, on_call, a), "cuptiSubscribe");
    TRY(a->api.cuptiActivityRegisterCallbacks(on_request, on_complete),
        "cuptiActivityRegisterCallbacks");
    for (; a->kinds_on < KIND_COUNT; a->kinds_on++)
        TRY(a->api.cuptiActivityEnable(KINDS[a->kinds_on]), "cuptiActivityEnable");
    TRY(a->api.cuptiActivityEnableAllocationSource(1), "cuptiActivityEnableAllocationSource");
    TRY(a->api.cuptiActivityFlushPeriod(FLUSH_MS), "cuptiActivityFlushPeriod");
    TRY(a->api.cuptiEnableCallback(1, a->subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                                   CUPTI_DRIVER_TRACE_CBID_cuMemCreate),
        "cuptiEnableCallback");
    return VS_OK;
}

enum vs_status trc_cupti_open_with(const struct cupti_api *api, struct trc_cupti **out,
                                   struct vs_error *err)
{
    struct attached *a = vs_calloc(1, sizeof(*a));
    const struct cupti_source source = {a, push, pop, stop, call_name, release};
    uint32_t version = 0;
    enum vs_status st;

    *out = NULL;
    a->api = *api;
    (void)api->cuptiGetVersion(&version);
    a->session = cupti_session_new(&source, cupti_capture_open(version));
    pthread_mutex_lock(&the.lock);
    VS_ASSERT(!the.attached);
    the.attached = a;
    pthread_mutex_unlock(&the.lock);
    st = switch_on(a, err);
    if (st) {
        trc_cupti_close(a->session); /* which disables everything */
        return st;
    }
    *out = a->session;
    return VS_OK;
}

enum vs_status trc_cupti_open(struct trc_cupti **out, struct vs_error *err)
{
    struct cupti_api api;
    enum vs_status st = cupti_api_load(&api, err);

    *out = NULL;
    return st ? st : trc_cupti_open_with(&api, out, err);
}

#endif
