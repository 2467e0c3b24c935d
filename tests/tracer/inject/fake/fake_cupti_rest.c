/*
 * tests/tracer/inject/fake/fake_cupti_rest.c - the other functions of CUPTI's table, which recording a program does not
 * need.
 */
#include "tests/tracer/inject/fake/fake.h"

#define CUPTI_API(name, args)                                                                      \
    __attribute__((weak)) CUptiResult CUPTIAPI name args                                           \
    {                                                                                              \
        return CUPTI_ERROR_NOT_SUPPORTED;                                                          \
    }
#include "tracer/cupti/cupti_api.def"
