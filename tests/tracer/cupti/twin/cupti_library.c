/*
 * tests/tracer/cupti/twin/cupti_library.c - libcupti.so.13 as a whole run finds it where VRAMSCOPE_CUDA_LIBS names its
 * folder: the simulated CUPTI of fake_cupti.h, with a device that runs one kernel for each op.
 *
 * For:            tests of whole runs on the device of tests/engine/device/twin/, which tells it of its memory.
 * Must not know:  the program.
 * Invariant:      the kernel of the op with event number N takes 1000 + N ns; every FOREIGN_EVERYth op also takes
 *                 memory of its own.
 *
 * VRAMSCOPE_FAKE_CUPTI: `privileges` or `subscribers`: opening fails so; `version`: it is of another one; `foreign`:
 * ops take memory.
 */
#include "tests/tracer/cupti/fake_cupti.h"

#include <stdlib.h>
#include <string.h>

#define FOREIGN_EVERY 100
#define DELIVER_EVERY 50

#define EXPORTED __attribute__((visibility("default")))

static struct {
    uint64_t ops;
} device;

static bool is_asked(const char *what)
{
    const char *asked = getenv("VRAMSCOPE_FAKE_CUPTI");

    return asked && strcmp(asked, what) == 0;
}

__attribute__((constructor)) static void begin(void)
{
    if (is_asked("privileges"))
        fake_cupti_begin(FAKE_cuptiActivityEnable, 4, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    else if (is_asked("subscribers"))
        fake_cupti_begin(FAKE_cuptiSubscribe, 1, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    else
        fake_cupti_begin(FAKE_CUPTI_COUNT, 0, CUPTI_SUCCESS);
}

static CUptiResult version(uint32_t *out)
{
    *out = is_asked("version") ? 26 : CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

static CUptiResult push(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    CUptiResult result = fake_cupti_api()->cuptiActivityPushExternalCorrelationId(kind, id);

    fake_cupti_launch(id % 2 ? "_ZN12_GLOBAL__N_13oddEPf" : "even", 1000 + id);
    if (++device.ops % FOREIGN_EVERY == 0 && is_asked("foreign"))
        fake_cupti_memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION,
                          CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 0x1000 * device.ops, 4096, true,
                          "/usr/lib/libother.so");
    if (device.ops % DELIVER_EVERY == 0)
        fake_cupti_deliver(FAKE_NEWEST_FIRST);
    return result;
}

/* For the device: see tests/engine/device/twin/twin_plugin.c. */
EXPORTED void twin_cupti_memory(bool is_taken, uint64_t address, uint64_t bytes);
void twin_cupti_memory(bool is_taken, uint64_t address, uint64_t bytes)
{
    if (is_taken)
        fake_cupti_malloc(address, bytes);
    else
        fake_cupti_free(address, bytes);
}

/* clang-format off */
#define EXPORT(name, params, args)                                                                 \
    EXPORTED CUptiResult name params { return fake_cupti_api()->name args; }

EXPORTED CUptiResult cuptiGetVersion(uint32_t *out) { return version(out); }
EXPORTED CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    return push(kind, id);
}
EXPORT(cuptiGetResultString, (CUptiResult result, const char **text), (result, text))
EXPORT(cuptiActivityRegisterCallbacks,
       (CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed),
       (requested, completed))
EXPORT(cuptiActivityEnable, (CUpti_ActivityKind kind), (kind))
EXPORT(cuptiActivityDisable, (CUpti_ActivityKind kind), (kind))
EXPORT(cuptiActivityEnableAllocationSource, (uint8_t enable), (enable))
EXPORT(cuptiActivityFlushAll, (uint32_t flag), (flag))
EXPORT(cuptiActivityFlushPeriod, (uint32_t ms), (ms))
EXPORT(cuptiActivityGetNextRecord, (uint8_t *buffer, size_t valid, CUpti_Activity **record), (buffer, valid, record))
EXPORT(cuptiActivityGetNumDroppedRecords, (CUcontext context, uint32_t stream, size_t *dropped),
       (context, stream, dropped))
EXPORT(cuptiActivityPopExternalCorrelationId, (CUpti_ExternalCorrelationKind kind, uint64_t *last), (kind, last))
EXPORT(cuptiSubscribe, (CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *user), (out, callback, user))
EXPORT(cuptiUnsubscribe, (CUpti_SubscriberHandle subscriber), (subscriber))
EXPORT(cuptiEnableCallback,
       (uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain, CUpti_CallbackId id),
       (enable, subscriber, domain, id))
EXPORT(cuptiGetCallbackName, (CUpti_CallbackDomain domain, uint32_t id, const char **name), (domain, id, name))
EXPORT(cuptiGetContextId, (CUcontext context, uint32_t *id), (context, id))
EXPORT(cuptiGetStreamIdEx, (CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id),
       (context, stream, per_thread, id))
EXPORT(cuptiGetDeviceId, (CUcontext context, uint32_t *id), (context, id))
/* clang-format on */
