/*
 * standin/runtime/stream.c - streams and events. What is put into a stream is complete at once, or late
 * (standin/runtime/late.h).
 *
 * A stream that is being captured has the number of its capture; a stream that waits for an event of a captured one
 * joins it, as CUDA has it.
 *
 * Invariant:      streams and events are known by their handles; those of a program that has destroyed them are no
 *                 error.
 */
#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "standin/runtime/calls.h"
#include "standin/runtime/late.h"
#include "standin/runtime/runtime.h"

/* Of a stream: priority, flags, capture. Of an event: the device's time, and the capture of its stream. */
struct object {
    const void *handle;
    int priority;
    unsigned flags;
    int device;
    uint64_t capture;
    double ms;
};

static struct {
    pthread_mutex_t lock;
    struct object *objects;
    size_t count, cap;
    uint64_t captures;
    uint64_t records;
} streams = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The object of a handle, made if it is not there: the default streams are never created. */
static struct object *object_of(const void *handle)
{
    struct object *objects;

    for (size_t i = streams.count; i-- > 0;)
        if (streams.objects[i].handle == handle)
            return &streams.objects[i];
    objects = vs_grow(streams.objects, streams.count, &streams.cap, sizeof(*objects));
    streams.objects = objects;
    objects[streams.count] = (struct object){.handle = handle, .device = sti_device()};
    return &objects[streams.count++];
}

static int object_new(void **out, unsigned flags, int priority)
{
    *out = sti_handle();
    pthread_mutex_lock(&streams.lock);
    *object_of(*out) = (struct object){
        .handle = *out, .flags = flags, .priority = priority, .device = sti_device()};
    pthread_mutex_unlock(&streams.lock);
    return STI_SUCCESS;
}

static int object_drop(const void *handle)
{
    struct object *object;

    pthread_mutex_lock(&streams.lock);
    object = object_of(handle);
    *object = streams.objects[--streams.count];
    pthread_mutex_unlock(&streams.lock);
    sti_late_forget(handle);
    return STI_SUCCESS;
}

static struct object object_get(const void *handle)
{
    struct object copy;

    pthread_mutex_lock(&streams.lock);
    copy = *object_of(handle);
    pthread_mutex_unlock(&streams.lock);
    return copy;
}

uint64_t sti_stream_capture(const void *stream)
{
    return object_get(stream).capture;
}

/* ---- streams ---- */

static int cudaStreamCreate(void **out)
{
    return object_new(out, 0, 0);
}

static int cudaStreamCreateWithFlags(void **out, unsigned flags)
{
    return object_new(out, flags, 0);
}

static int cudaStreamCreateWithPriority(void **out, unsigned flags, int priority)
{
    return object_new(out, flags, priority);
}

static int cudaStreamGetPriority(void *stream, int *priority)
{
    *priority = object_get(stream).priority;
    return STI_SUCCESS;
}

static int cudaStreamGetFlags(void *stream, unsigned *flags)
{
    *flags = object_get(stream).flags;
    return STI_SUCCESS;
}

static int cudaStreamGetId(void *stream, unsigned long long *id)
{
    *id = (uintptr_t)stream;
    return STI_SUCCESS;
}

static int cudaStreamGetDevice(void *stream, int *device)
{
    *device = object_get(stream).device;
    return STI_SUCCESS;
}

void sti_stream_run(void *stream, void (*function)(void *), void *user)
{
    if (!sti_stream_capture(stream))
        function(user);
}

static int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *user)
{
    sti_stream_run(stream, function, user);
    return STI_SUCCESS;
}

static int cudaStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *user,
                                 unsigned flags)
{
    function(stream, STI_SUCCESS, user);
    return STI_SUCCESS;
}

/* ---- capture ---- */

static int cudaStreamBeginCapture(void *stream, int mode)
{
    pthread_mutex_lock(&streams.lock);
    object_of(stream)->capture = ++streams.captures;
    pthread_mutex_unlock(&streams.lock);
    return STI_SUCCESS;
}

static int cudaStreamBeginCaptureToGraph(void *stream, void *graph, const void *nodes,
                                         const void *edges, size_t count, int mode)
{
    return cudaStreamBeginCapture(stream, mode);
}

/* All streams that joined the capture leave it. */
static int cudaStreamEndCapture(void *stream, void **graph)
{
    uint64_t capture;

    pthread_mutex_lock(&streams.lock);
    capture = object_of(stream)->capture;
    for (size_t i = 0; i < streams.count; i++)
        if (streams.objects[i].capture == capture)
            streams.objects[i].capture = 0;
    pthread_mutex_unlock(&streams.lock);
    if (!capture)
        return sti_error(STI_INVALID_VALUE);
    *graph = sti_handle();
    return STI_SUCCESS;
}

static int cudaStreamIsCapturing(void *stream, int *status)
{
    *status = sti_stream_capture(stream) != 0;
    return STI_SUCCESS;
}

/* What the three versions have in common; `graph` has no nodes, which nobody asks for who does not change it. */
static int capture_info(const void *stream, int *status, unsigned long long *id, void **graph)
{
    const uint64_t capture = sti_stream_capture(stream);

    *status = capture != 0;
    if (id)
        *id = capture;
    if (graph)
        *graph = (void *)(uintptr_t)capture;
    return STI_SUCCESS;
}

static int cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id,
                                       void **graph, const void **nodes, size_t *count)
{
    if (nodes)
        *nodes = NULL;
    if (count)
        *count = 0;
    return capture_info(stream, status, id, graph);
}

static int cudaStreamGetCaptureInfo_v3(void *stream, int *status, unsigned long long *id,
                                       void **graph, const void **nodes, const void **edges,
                                       size_t *count)
{
    if (edges)
        *edges = NULL;
    return cudaStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count);
}

/* Of CUDA 13 the third version; of CUDA 11 and 12 the first, which has no more than the number. */
static int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id, void **graph,
                                    const void **nodes, const void **edges, size_t *count)
{
    if (sti_versions()->cuda < 13000)
        return capture_info(stream, status, id, NULL);
    return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, nodes, edges, count);
}

static int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    return STI_SUCCESS; /* what it was is what it is */
}

/* ---- events ---- */

/* Work takes 1 ms; an event 1 us, so that nobody divides by the time between two that have no work between them. */
static double now_ms(void)
{
    return (double)sti_work_count() + (double)++streams.records / 1e3;
}

static int cudaEventRecord(void *event, void *stream)
{
    uint64_t capture;

    pthread_mutex_lock(&streams.lock);
    capture = object_of(stream)->capture;
    object_of(event)->capture = capture;
    object_of(event)->ms = now_ms();
    pthread_mutex_unlock(&streams.lock);
    if (!capture)
        sti_late_record(event, stream);
    return STI_SUCCESS;
}

static int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
    return cudaEventRecord(event, stream);
}

static int cudaStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    uint64_t capture;
    bool is_going_on = false;

    pthread_mutex_lock(&streams.lock);
    capture = object_of(event)->capture;
    for (size_t i = 0; i < streams.count;
         i++) /* an event of a capture that has ended binds nobody */
        is_going_on |=
            capture && streams.objects[i].capture == capture && streams.objects[i].handle != event;
    if (is_going_on)
        object_of(stream)->capture = capture;
    pthread_mutex_unlock(&streams.lock);
    sti_late_wait(stream, event);
    return STI_SUCCESS;
}

static int cudaEventElapsedTime(float *ms, void *from, void *to)
{
    if (!sti_late_is_event_done(from) || !sti_late_is_event_done(to))
        return sti_error(STI_NOT_READY);
    *ms = (float)(object_get(to).ms - object_get(from).ms);
    return STI_SUCCESS;
}

/* ---- waiting ---- */

static int cudaEventQuery(void *event)
{
    return sti_late_is_event_done(event) ? STI_SUCCESS : sti_error(STI_NOT_READY);
}

static int cudaEventSynchronize(void *event)
{
    sti_late_sync_event(event);
    return sti_error(sti_ranks_wait());
}

static int cudaStreamQuery(void *stream)
{
    return sti_late_is_stream_done(stream) ? STI_SUCCESS : sti_error(STI_NOT_READY);
}

static int cudaStreamSynchronize(void *stream)
{
    sti_late_sync_stream(stream);
    return sti_error(sti_ranks_wait());
}

static int cudaDeviceSynchronize(void)
{
    sti_late_sync_all();
    return sti_error(sti_ranks_wait());
}

const struct sti_call sti_calls_stream[] = {
    STI_CALL(cudaStreamCreate),
    STI_CALL(cudaStreamCreateWithFlags),
    STI_CALL(cudaStreamCreateWithPriority),
    STI_CALL(cudaStreamGetPriority),
    STI_CALL(cudaStreamGetFlags),
    STI_CALL(cudaStreamGetId),
    STI_CALL(cudaStreamGetDevice),
    {"cudaStreamDestroy", (sti_function *)object_drop},
    STI_CALL(cudaLaunchHostFunc),
    STI_CALL(cudaStreamAddCallback),
    STI_CALL(cudaStreamBeginCapture),
    STI_CALL(cudaStreamBeginCaptureToGraph),
    STI_CALL(cudaStreamEndCapture),
    STI_CALL(cudaStreamIsCapturing),
    STI_CALL(cudaStreamGetCaptureInfo),
    STI_CALL(cudaStreamGetCaptureInfo_v2),
    STI_CALL(cudaStreamGetCaptureInfo_v3),
    STI_CALL(cudaThreadExchangeStreamCaptureMode),
    {"cudaEventCreate", (sti_function *)cudaStreamCreate},
    {"cudaEventCreateWithFlags", (sti_function *)cudaStreamCreateWithFlags},
    {"cudaEventDestroy", (sti_function *)object_drop},
    STI_CALL(cudaEventRecord),
    STI_CALL(cudaEventRecordWithFlags),
    STI_CALL(cudaStreamWaitEvent),
    STI_CALL(cudaEventElapsedTime),
    STI_CALL(cudaEventQuery),
    STI_CALL(cudaEventSynchronize),
    STI_CALL(cudaStreamQuery),
    STI_CALL(cudaStreamSynchronize),
    STI_CALL(cudaDeviceSynchronize),
    {"cudaEventElapsedTime_v2", (sti_function *)cudaEventElapsedTime},
    {"cudaIpcOpenEventHandle", (sti_function *)cudaStreamCreate},
    /* the driver's */
    {"cuStreamCreate", (sti_function *)cudaStreamCreateWithFlags},
    {"cuStreamCreateWithPriority", (sti_function *)cudaStreamCreateWithPriority},
    {"cuStreamDestroy_v2", (sti_function *)object_drop},
    {"cuStreamGetPriority", (sti_function *)cudaStreamGetPriority},
    {"cuStreamGetFlags", (sti_function *)cudaStreamGetFlags},
    {"cuStreamGetId", (sti_function *)cudaStreamGetId},
    {"cuStreamIsCapturing", (sti_function *)cudaStreamIsCapturing},
    {"cuStreamGetCaptureInfo_v2", (sti_function *)cudaStreamGetCaptureInfo_v2},
    {"cuStreamGetCaptureInfo_v3", (sti_function *)cudaStreamGetCaptureInfo_v3},
    {"cuStreamBeginCapture_v2", (sti_function *)cudaStreamBeginCapture},
    {"cuStreamEndCapture", (sti_function *)cudaStreamEndCapture},
    {"cuStreamWaitEvent", (sti_function *)cudaStreamWaitEvent},
    {"cuLaunchHostFunc", (sti_function *)cudaLaunchHostFunc},
    {"cuThreadExchangeStreamCaptureMode", (sti_function *)cudaThreadExchangeStreamCaptureMode},
    {"cuEventCreate", (sti_function *)cudaStreamCreateWithFlags},
    {"cuEventDestroy_v2", (sti_function *)object_drop},
    {"cuEventRecord", (sti_function *)cudaEventRecord},
    {"cuEventQuery", (sti_function *)cudaEventQuery},
    {"cuEventSynchronize", (sti_function *)cudaEventSynchronize},
    {"cuStreamQuery", (sti_function *)cudaStreamQuery},
    {"cuStreamSynchronize", (sti_function *)cudaStreamSynchronize},
    {"cuCtxSynchronize", (sti_function *)cudaDeviceSynchronize},
    {"cuEventElapsedTime", (sti_function *)cudaEventElapsedTime},
    {"cuEventElapsedTime_v2", (sti_function *)cudaEventElapsedTime},
    STI_CALLS_END,
};
