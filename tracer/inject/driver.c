/*
 * tracer/inject/driver.c - see driver.h.
 *
 * Only plain C types are used, so that the library works with every version of the driver.
 */
#include "tracer/inject/driver.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define DRIVER "libcuda.so.1"

/* out: pointer to a function pointer. The library is used only if it is already loaded. */
static bool symbol_find(const char *library, const char *name, void *out)
{
    void *handle = library ? dlopen(library, RTLD_NOW | RTLD_NOLOAD) : RTLD_DEFAULT;
    void *function = library && !handle ? NULL : dlsym(handle, name);

    memcpy(out, &function, sizeof(function));
    if (library && handle)
        dlclose(handle);
    return function != NULL;
}

static bool memory_info(size_t *free_bytes, size_t *total_bytes)
{
    int (*info)(size_t * free_bytes, size_t * total_bytes);

    return symbol_find(DRIVER, "cuMemGetInfo_v2", &info) && info(free_bytes, total_bytes) == 0;
}

uint64_t inj_driver_free_bytes(void)
{
    size_t free_bytes = 0;
    size_t total_bytes = 0;

    return memory_info(&free_bytes, &total_bytes) ? free_bytes : 0;
}

void inj_driver_facts(uint32_t device, struct inj_facts *out)
{
    int (*name_get)(char *name, int len, int device);
    int (*version_get)(int *version);
    size_t free_bytes = 0;
    size_t total_bytes = 0;

    memset(out, 0, sizeof(*out));
    if (symbol_find(DRIVER, "cuDeviceGetName", &name_get) &&
        name_get(out->name, (int)sizeof(out->name) - 1, (int)device) != 0)
        out->name[0] = '\0';
    if (symbol_find(DRIVER, "cuDriverGetVersion", &version_get) &&
        version_get(&out->driver_version) != 0)
        out->driver_version = 0;
    if (symbol_find(NULL, "cudaRuntimeGetVersion", &version_get) &&
        version_get(&out->runtime_version) != 0)
        out->runtime_version = 0;
    if (memory_info(&free_bytes, &total_bytes)) {
        out->free_bytes = free_bytes;
        out->total_bytes = total_bytes;
    }
}

const char *inj_driver_error(int result)
{
    int (*name_get)(int result, const char **name);
    const char *name = NULL;

    if (!symbol_find(DRIVER, "cuGetErrorName", &name_get) || name_get(result, &name) != 0 || !name)
        return "an error without a name";
    return name;
}
