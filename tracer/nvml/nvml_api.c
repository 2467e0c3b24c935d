/*
 * tracer/nvml/nvml_api.c - see nvml_api.h: loads NVML's functions.
 *
 * Must not know:  what the functions are for.
 * Invariant:      the error names the missing function.
 */
#include "tracer/nvml/nvml_api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libnvidia-ml.so.1"

static enum vs_status symbol_find(void *library, const char *name, bool is_needed, void *out,
                                  struct vs_error *err)
{
    void *function = dlsym(library, name);

    if (!function && is_needed)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "nvml: " LIBRARY " has no %s: it is of another version", name);
    memcpy(out, &function, sizeof(function));
    return VS_OK;
}

enum vs_status nvml_api_load(struct nvml_api *out, struct vs_error *err)
{
    const char *named = getenv("VRAMSCOPE_NVML");
    const char *name = named && *named ? named : LIBRARY;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    enum vs_status st;

    if (!library)
        return vs_fail(
            err, VS_E_UNSUPPORTED,
            "nvml: %s is not found: it comes with NVIDIA's driver, so there is none here, or "
            "this container was not given it",
            name);
#define NVML_API(name, args, is_needed)                                                            \
    st = symbol_find(library, #name, is_needed, &out->name, err);                                  \
    if (st)                                                                                        \
        return st;
#include "tracer/nvml/nvml_api.def"
#undef NVML_API
    return VS_OK;
}

const char *nvml_result_text(int result)
{
    static const struct {
        int result;
        const char *text;
    } TEXTS[] = {
        {NVML_OK, "it answers"},
        {NVML_NO_PERMISSION, "no permission"},
        {NVML_TOO_SMALL, "more than fits into the buffer"},
        {NVML_NO_DRIVER, "the NVIDIA driver is not loaded"},
        {NVML_LOST, "the GPU is lost; it needs a reset, or the machine a restart"},
        {NVML_MISMATCH, "the library is of another version than the driver that is loaded: restart "
                        "the machine after an update of the driver"},
    };

    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++)
        if (TEXTS[i].result == result)
            return TEXTS[i].text;
    return "it fails";
}
