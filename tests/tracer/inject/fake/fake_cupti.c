/*
 * tests/tracer/inject/fake/fake_cupti.c - a libcupti.so.13 over the fake driver: see fake.h.
 */
#include "tests/tracer/inject/fake/fake.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDS_MAX 1024
#define DOMAINS 8

struct CUpti_Subscriber_st {
    CUpti_CallbackFunc callback;
    void *user;
    bool is_on[DOMAINS][IDS_MAX];
};

static struct CUpti_Subscriber_st subscriber;

/* The answer FAKE_CUPTI_FAIL has for this function; 0: none. */
static CUptiResult result_of(const char *function)
{
    const char *fail = getenv("FAKE_CUPTI_FAIL");
    const size_t len = strlen(function);

    if (!fail || strncmp(fail, function, len) != 0 || fail[len] != ':')
        return CUPTI_SUCCESS;
    return (CUptiResult)atoi(fail + len + 1);
}

static void *driver(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

    return library ? dlsym(library, name) : NULL;
}

static void on_call(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    if (id < IDS_MAX && subscriber.is_on[domain][id])
        subscriber.callback(subscriber.user, domain, id, data);
}

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
    *version = CUPTI_API_VERSION;
    return result_of("cuptiGetVersion");
}

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
    static char name[32];

    snprintf(name, sizeof(name), "CUPTI_ERROR_%d", (int)result);
    *text = name;
    return result_of("cuptiGetResultString");
}

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback,
                                    void *user)
{
    void *function = driver("fake_cuda_listen");
    void (*listen)(fake_listener * listener);

    if (result_of("cuptiSubscribe"))
        return result_of("cuptiSubscribe");
    if (!function)
        return CUPTI_ERROR_NOT_INITIALIZED;
    if (subscriber.callback)
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    subscriber.callback = callback;
    subscriber.user = user;
    memcpy(&listen, &function, sizeof(listen));
    listen(on_call);
    *out = &subscriber;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    memset(handle, 0, sizeof(*handle));
    return result_of("cuptiUnsubscribe");
}

CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    if (result_of("cuptiEnableCallback"))
        return result_of("cuptiEnableCallback");
    if (domain >= DOMAINS || id >= IDS_MAX)
        return CUPTI_ERROR_INVALID_PARAMETER;
    handle->is_on[domain][id] = enable != 0;
    return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t *id)
{
    void *function = driver("fake_cuda_context_id");
    uint32_t (*get)(CUcontext context);

    memcpy(&get, &function, sizeof(get));
    *id = get(context);
    return result_of("cuptiGetContextId");
}

CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
    void *function = driver("fake_cuda_context_device");
    uint32_t (*get)(CUcontext context);

    memcpy(&get, &function, sizeof(get));
    *id = get(context);
    return result_of("cuptiGetDeviceId");
}

CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
                                        uint32_t *id)
{
    (void)context;
    (void)per_thread;
    *id = (uint32_t)(uintptr_t)stream + 7;
    return result_of("cuptiGetStreamIdEx");
}
