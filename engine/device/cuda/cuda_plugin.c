/*
 * engine/device/cuda/cuda_plugin.c - what the library exports.
 *
 * For:            engine/device/plugin.c.
 * Must not know:  anything but how to open.
 * Invariant:      the only visible symbol.
 */
#include "engine/device/cuda/cuda_internal.h"

static enum vs_status open_real(const struct eng_kernels *host, struct eng_device *out,
                                struct vs_error *err)
{
    struct cuda_api api;
    enum vs_status st = cuda_api_load(&api, err);

    return st ? st : cuda_device_open_with(&api, host, out, err);
}

extern const struct eng_device_plugin eng_device_plugin;
__attribute__((visibility("default"))) const struct eng_device_plugin eng_device_plugin = {
    .version = ENG_PLUGIN_VERSION, .tables = ENG_PLUGIN_TABLES, .open = open_real};
