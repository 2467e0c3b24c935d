/*
 * standin/runtime/nvrtc.c - NVRTC and CUPTI: programs that compile to nothing, activities that never come.
 */
#include <string.h>

#include "standin/runtime/calls.h"
#include "standin/runtime/runtime.h"

static int nvrtcVersion(int *major, int *minor)
{
    *major = sti_versions()->cuda / 1000;
    *minor = sti_versions()->cuda % 1000 / 10;
    return STI_SUCCESS;
}

/* The one byte of a text that is empty. */
static int nvrtcGetProgramLogSize(void *program, size_t *size)
{
    *size = 1;
    return STI_SUCCESS;
}

static int nvrtcGetProgramLog(void *program, char *out)
{
    *out = '\0';
    return STI_SUCCESS;
}

static int nvrtcGetLoweredName(void *program, const char *name, const char **out)
{
    *out = name;
    return STI_SUCCESS;
}

static int nvrtcGetNumSupportedArchs(int *count)
{
    *count = 1;
    return STI_SUCCESS;
}

static int nvrtcGetSupportedArchs(int *out)
{
    *out = sti_gpu()->capability;
    return STI_SUCCESS;
}

static const char *nvrtcGetErrorString(int status)
{
    return status ? "refused by vramscope's stand-in for a GPU" : "NVRTC_SUCCESS";
}

static int cuptiGetVersion(unsigned *version)
{
    *version = (unsigned)sti_versions()->cuda;
    return STI_SUCCESS;
}

static int cuptiGetResultString(int status, const char **out)
{
    *out = status ? "refused by vramscope's stand-in for a GPU" : "CUPTI_SUCCESS";
    return STI_SUCCESS;
}

static int cuptiGetTimestamp(uint64_t *out)
{
    *out = 0;
    return STI_SUCCESS;
}

/* 12: CUPTI_ERROR_MAX_LIMIT_REACHED, no more records */
static int cuptiActivityGetNextRecord(void *buffer, size_t bytes, void **record)
{
    *record = NULL;
    return 12;
}

static int cuptiActivityGetNumDroppedRecords(void *context, unsigned stream, size_t *count)
{
    *count = 0;
    return STI_SUCCESS;
}

const struct sti_call sti_calls_nvrtc[] = {
    STI_CALL(nvrtcVersion),
    STI_CALL(nvrtcGetProgramLogSize),
    STI_CALL(nvrtcGetProgramLog),
    {"nvrtcGetPTXSize", (sti_function *)nvrtcGetProgramLogSize},
    {"nvrtcGetPTX", (sti_function *)nvrtcGetProgramLog},
    {"nvrtcGetCUBINSize", (sti_function *)nvrtcGetProgramLogSize},
    {"nvrtcGetCUBIN", (sti_function *)nvrtcGetProgramLog},
    STI_CALL(nvrtcGetLoweredName),
    STI_CALL(nvrtcGetNumSupportedArchs),
    STI_CALL(nvrtcGetSupportedArchs),
    STI_CALL(nvrtcGetErrorString),
    STI_CALL(cuptiGetVersion),
    STI_CALL(cuptiGetResultString),
    STI_CALL(cuptiGetTimestamp),
    STI_CALL(cuptiActivityGetNextRecord),
    STI_CALL(cuptiActivityGetNumDroppedRecords),
    STI_CALLS_END,
};
