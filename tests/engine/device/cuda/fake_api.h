/*
 * tests/engine/device/cuda/fake_api.h - the table of CUDA's functions, implemented on the host: memory is allocated,
 * the libraries' arithmetic is not done.
 *
 * For:            tests of the calls that the device makes to CUDA: their order, what it frees, its messages when a
 *                 call fails.
 * Must not know:  the device.
 * Invariant:      counts every call; a single call, chosen by its number, can be made to fail, or all calls from one
 *                 on.
 */
#ifndef TESTS_ENGINE_DEVICE_FAKE_API_H
#define TESTS_ENGINE_DEVICE_FAKE_API_H

#include <stddef.h>
#include <stdint.h>

#include "engine/device/cuda/cuda_api.h"

enum fake_call {
#define CUDA_API(library, result, name, args) FAKE_##name,
#include "engine/device/cuda/cuda_api.def"
#undef CUDA_API
    FAKE_COUNT
};

const char *fake_name(enum fake_call call);

/* From now on: no calls yet, and the `nth` (from 1; 0: none) call of `call` fails. */
void fake_begin(enum fake_call call, uint64_t nth);
/*
 * From now on: no calls yet, and all that come after so many fail, with errors that are not those of memory that is
 * short.
 */
void fake_lose(uint64_t after);
uint64_t fake_calls(enum fake_call call);
/* Of all functions. */
uint64_t fake_all_calls(void);
/* Has the requested failure occurred? */
int fake_has_failed(void);
/* Memory, ranges, handles and descriptors that were taken and not given back. */
uint64_t fake_left(void);

const struct cuda_api *fake_api(void);

#endif
