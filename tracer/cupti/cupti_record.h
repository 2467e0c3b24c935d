/*
 * tracer/cupti/cupti_record.h - what CUPTI told, in our words.
 *
 * For:            cupti_translate.c makes them, cupti_work.c and cupti_memory.c add them up; tests make them by hand.
 * Must not know:  CUPTI: its records change shape from version to version.
 * Invariant:      what a record does not tell is 0 or NULL.
 */
#ifndef TRC_CUPTI_RECORD_H
#define TRC_CUPTI_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * KERNEL, COPY, FILL  the device ran something: name, start_ns, end_ns (both 0: no time was taken), bytes
 * TAKEN, GIVEN        memory of the device was allocated or freed: address, bytes, name: the library that asked
 * POOL                a memory pool was made
 * CALL                a function of CUDA's was called: call, is_driver
 * TIE                 that call was made inside of the op with the event number op_seq
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

/* correlation: number of the call of CUDA's that it came from; they count up in a process, and wrap around. */
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
    const char *name; /* borrowed for the call */
};

#endif
