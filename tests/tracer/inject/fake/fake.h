/*
 * tests/tracer/inject/fake/fake.h - what the fake driver and the fake CUPTI have in common.
 *
 * The driver's functions do what NVIDIA's do as far as a program can see without a GPU: give addresses, run out of
 * memory, refuse what they do not know. Around each of them whoever listens is called, as the real driver calls CUPTI.
 *
 * FAKE_CUDA_BYTES   memory of each device (1 GiB)
 * FAKE_CUDA_FAIL    "cuMemAlloc_v2:3:700": that function's third call does nothing and answers 700
 * FAKE_CUDA_OPAQUE  functions of the runtime come down to the driver unheard
 * FAKE_CUPTI_FAIL   "cuptiSubscribe:39": that function answers 39
 */
#ifndef TESTS_FAKE_H
#define TESTS_FAKE_H

#include <cupti.h>

typedef void fake_listener(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);

/* The driver's: call `listener` around each function. NULL: nobody. */
void fake_cuda_listen(fake_listener *listener);
/* The number of a context, and its device. */
uint32_t fake_cuda_context_id(CUcontext context);
uint32_t fake_cuda_context_device(CUcontext context);

#endif
