/*
 * tests/engine/device/fake/plugin.c - a plug-in whose version and table sizes the test sets: see
 * tests/engine/device/test_plugin.c.
 *
 * FAKE_PLUGIN_VERSION: the version it says it has.
 */
#include <stdlib.h>

#include "engine/device/plugin.h"

static enum vs_status open_never(const struct eng_kernels *host, struct eng_device *out,
                                 struct vs_error *err)
{
    (void)host;
    (void)out;
    err->status = VS_E_IO; /* distinguished from being refused */
    return VS_E_IO;
}

extern struct eng_device_plugin eng_device_plugin;
__attribute__((visibility("default"))) struct eng_device_plugin eng_device_plugin = {
    .version = ENG_PLUGIN_VERSION, .tables = ENG_PLUGIN_TABLES, .open = open_never};

__attribute__((constructor)) static void begin(void)
{
    const char *version = getenv("FAKE_PLUGIN_VERSION");

    if (version)
        eng_device_plugin.version = (uint32_t)strtoul(version, NULL, 10);
}
