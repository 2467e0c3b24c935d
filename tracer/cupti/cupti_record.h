/*
 * tracer/cupti/cupti_record.h - CUPTI's records in a form that does not depend on its version.
 *
 * For:            cupti_translate.c creates them, cupti_work.c and cupti_memory.c aggregate them; tests create them by
 *                 hand.
 * Must not know:  CUPTI: the layout of its records differs between versions.
 * Invariant:      a value that a record does not have is 0 or NULL.
 */
#ifndef TRC_CUPTI_RECORD_H
#define TRC_CUPTI_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * KERNEL, COPY, FILL  the device ran a task: name, start_ns, end_ns (both 0: no time was recorded), bytes
 * TAKEN, GIVEN        device memory was allocated or freed: address, bytes, name: the library that called
 * POOL                a memory pool was created
 * CALL                a CUDA function was called: call, is_driver
 * TIE                 the call was made inside the op with event number op_seq
 */
enum cupti_what {
    CUPTI_KERNEL,
    CUPTI_COPY,
    CUPTI_FILL,
    CUPTI_TAKEN,
    CUPTI_GIVEN,
    CUPTI_POOL,
    CUPTI_CALL,
    CUPTI_TIE
};

/* correlation: CUPTI's number of the CUDA call; the numbers ascend within a process and wrap around. */
struct cupti_record {
    enum cupti_what what;
    uint32_t correlation;
    uint32_t call;
    bool is_driver;
    uint64_t op_seq;
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t address;
    uint64_t bytes;
    const char *name; /* valid during the call */
};

#endif
