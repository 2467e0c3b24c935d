/*
 * tracer/cupti/cupti_api.c - see cupti_api.h: loads CUPTI's functions.
 *
 * Must not know:  what the functions are for.
 * Invariant:      a library of another major version is refused, because its records have another layout.
 */
#include "tracer/cupti/cupti_api.h"

#include <stddef.h>

#ifndef VS_CUPTI

enum vs_status cupti_api_load(struct cupti_api *out, struct vs_error *err)
{
    (void)out;
    return vs_fail(err, VS_E_UNSUPPORTED,
                   "cupti: this program was built without CUPTI's headers; build it where the CUDA "
                   "toolkit is");
}

enum vs_status cupti_check(struct vs_error *err)
{
    return cupti_api_load(NULL, err);
}

#else

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libcupti.so.13"
/* From CUDA 13 on a version is encoded as 130001: toolkit 13.0, update 1 of CUPTI. Before, it was a plain number. */
#define MAJOR_OF(version) ((version) / 10000)

static const char USUAL[] = "/usr/local/cuda/lib64:/usr/local/cuda/extras/CUPTI/lib64";

/* Open the library in the folders of a list separated by colons. */
static void *open_in(const char *folders)
{
    while (folders && *folders) {
        const char *end = strchr(folders, ':');
        int length = end ? (int)(end - folders) : (int)strlen(folders);
        char path[PATH_MAX];
        void *library;

        snprintf(path, sizeof(path), "%.*s/" LIBRARY, length, folders);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
        folders = end ? end + 1 : NULL;
    }
    return NULL;
}

static enum vs_status symbol_find(void *library, const char *name, void *out, struct vs_error *err)
{
    void *function = dlsym(library, name);

    if (!function)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "cupti: " LIBRARY " has no %s: it is of another version", name);
    memcpy(out, &function, sizeof(function));
    return VS_OK;
}

static enum vs_status version_check(const struct cupti_api *api, struct vs_error *err)
{
    uint32_t version = 0;
    CUptiResult result = api->cuptiGetVersion(&version);

    if (result != CUPTI_SUCCESS)
        return vs_fail(err, VS_E_UNSUPPORTED, "cupti: its version cannot be read: %s",
                       cupti_result_text(api, result));
    if (MAJOR_OF(version) != MAJOR_OF(CUPTI_API_VERSION))
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "cupti: " LIBRARY " is of version %" PRIu32
                       ", this program was built for %d",
                       version, (int)CUPTI_API_VERSION);
    return VS_OK;
}

enum vs_status cupti_api_load(struct cupti_api *out, struct vs_error *err)
{
    void *library = open_in(getenv("VRAMSCOPE_CUDA_LIBS"));
    enum vs_status st;

    if (!library)
        library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = open_in(USUAL);
    if (!library)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "cupti: " LIBRARY
                       " is not found; put its folder into LD_LIBRARY_PATH or VRAMSCOPE_CUDA_LIBS");
#define CUPTI_API(name, args)                                                                      \
    st = symbol_find(library, #name, &out->name, err);                                             \
    if (st)                                                                                        \
        return st;
#include "tracer/cupti/cupti_api.def"
#undef CUPTI_API
    return version_check(out, err);
}

const char *cupti_result_text(const struct cupti_api *api, CUptiResult result)
{
    const char *text = NULL;

    if (api->cuptiGetResultString(result, &text) != CUPTI_SUCCESS || !text)
        return "an error without a name";
    return text;
}

enum vs_status cupti_check(struct vs_error *err)
{
    struct cupti_api api;

    return cupti_api_load(&api, err);
}

#endif
