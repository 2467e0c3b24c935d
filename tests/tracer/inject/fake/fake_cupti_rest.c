/*
 * tests/tracer/inject/fake/fake_cupti_rest.c - what else the table of CUPTI's functions wants: nothing that recording
 * a program needs.
 */
#include "tests/tracer/inject/fake/fake.h"

#define CUPTI_API(name, args)                                                                      \
    __attribute__((weak)) CUptiResult CUPTIAPI name args                                           \
    {                                                                                              \
        return CUPTI_ERROR_NOT_SUPPORTED;                                                          \
    }
#include "tracer/cupti/cupti_api.def"
