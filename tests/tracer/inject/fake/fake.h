/*
 * tests/tracer/inject/fake/fake.h - shared by the fake driver and the fake CUPTI.
 *
 * The driver's functions behave like NVIDIA's as far as a program can see without a GPU: they return addresses, run out
 * of memory, and refuse what they do not know. Around each of them the subscriber is called, as the real driver calls
 * CUPTI.
 *
 * FAKE_CUDA_BYTES   memory of each device (default 1 GiB)
 * FAKE_CUDA_FAIL    "cuMemAlloc_v2:3:700": the third call of that function does nothing and returns 700
 * FAKE_CUDA_OPAQUE  functions of the runtime call the driver without a callback to the subscriber
 * FAKE_CUPTI_FAIL   "cuptiSubscribe:39": that function returns 39
 */
#ifndef TESTS_FAKE_H
#define TESTS_FAKE_H

#include <cupti.h>

typedef void fake_listener(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);

/* Of the driver: call `listener` around each function. NULL: call none. */
void fake_cuda_listen(fake_listener *listener);
/* The number of a context, and its device. */
uint32_t fake_cuda_context_id(CUcontext context);
uint32_t fake_cuda_context_device(CUcontext context);

#endif
