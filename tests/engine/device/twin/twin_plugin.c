/*
 * tests/engine/device/twin/twin_plugin.c - the plug-in of the simulated GPU: `record --device cuda` loads it from the
 * folder that VRAMSCOPE_PLUGINS names.
 *
 * For:            tests of whole runs on a device, without a GPU.
 * Must not know:  kernels.
 * Invariant:      segments are allocated, not only counted: a kernel that reads a freed segment ends the run.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "engine/alloc/driver.h"
#include "engine/device/plugin.h"
#include "tests/engine/device/twin/cuda_twin.h"
#include "tests/engine/device/twin/twin_device.h"

#define MIRROR (UINT64_C(0xC0) << 40)
#define TOTAL (UINT64_C(64) << 30)
#define GRANULE (UINT64_C(2) << 20)
#define RANGES UINT64_C(0x600000000000)

/* The simulated driver assigns the addresses; here they also have memory. */
static struct {
    struct eng_sim_driver *sim;
    struct eng_alloc_driver counted;
    eng_device_watch_fn *report;
    void *user;
    uint64_t range_end;
    uint64_t waits;
} twin_driver;

/* A simulated CUPTI, where the program has opened one (tests/tracer/cupti/twin/), sees what is taken and given back. */
static void show(bool is_taken, uint64_t address, uint64_t bytes)
{
    void *library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
    void *entry = library ? dlsym(library, "twin_cupti_memory") : NULL;
    void (*see)(bool, uint64_t, uint64_t);

    memcpy(&see, &entry, sizeof(see));
    if (see)
        see(is_taken, address, bytes);
    if (library)
        dlclose(library);
}

static void report(enum eng_device_memory what, uint64_t address, uint64_t bytes)
{
    show(what == ENG_DEVICE_TAKEN, address, bytes);
    if (twin_driver.report)
        twin_driver.report(twin_driver.user, what, address, bytes);
}

/*
 * With VRAMSCOPE_TWIN_DOWNWARDS segments are placed from high addresses to low ones, unlike with the simulated driver.
 */
static uint64_t place_of(uint64_t address, uint64_t bytes)
{
    return getenv("VRAMSCOPE_TWIN_DOWNWARDS") ? MIRROR - address - bytes : address;
}

static bool segment_alloc(void *user, uint64_t bytes, uint64_t *out_address)
{
    (void)user;
    if (!twin_driver.counted.segment_alloc(twin_driver.counted.user, bytes, out_address))
        return false;
    *out_address = place_of(*out_address, bytes);
    if (!twin_memory_add(*out_address, bytes))
        return false;
    report(ENG_DEVICE_TAKEN, *out_address, bytes);
    return true;
}

static void segment_free(void *user, uint64_t address, uint64_t bytes)
{
    (void)user;
    twin_memory_remove(address, bytes);
    twin_driver.counted.segment_free(twin_driver.counted.user, place_of(address, bytes), bytes);
    report(ENG_DEVICE_GIVEN, address, 0);
}

/* Where the counted driver has them no process may have memory. */
static bool range_reserve(void *user, uint64_t bytes, uint64_t *out_address)
{
    (void)user;
    *out_address = twin_driver.range_end;
    twin_driver.range_end += (bytes + GRANULE - 1) / GRANULE * GRANULE;
    return true;
}

static void range_release(void *user, uint64_t address, uint64_t bytes)
{
    (void)user;
    (void)address; /* addresses are there in plenty */
    (void)bytes;
}

/* In pieces, as a GPU has it: what is unmapped need not be what was mapped at once. */
static bool range_map(void *user, uint64_t address, uint64_t bytes)
{
    (void)user;
    if (!twin_driver.counted.range_map(twin_driver.counted.user, address, bytes))
        return false;
    for (uint64_t done = 0; done < bytes; done += GRANULE)
        if (!twin_memory_add(address + done, GRANULE))
            return false;
    return true;
}

static void range_unmap(void *user, uint64_t address, uint64_t bytes)
{
    (void)user;
    for (uint64_t done = 0; done < bytes; done += GRANULE)
        twin_memory_remove(address + done, GRANULE);
    twin_driver.counted.range_unmap(twin_driver.counted.user, address, bytes);
}

static void mem_info(void *user, uint64_t *out_free_bytes, uint64_t *out_total_bytes)
{
    (void)user;
    twin_driver.counted.mem_info(twin_driver.counted.user, out_free_bytes, out_total_bytes);
}

static void close_twin(void)
{
    twin_close();
    eng_sim_driver_free(twin_driver.sim);
    memset(&twin_driver, 0, sizeof(twin_driver));
}

static void watch(eng_device_watch_fn *watcher, void *user)
{
    twin_driver.report = watcher;
    twin_driver.user = user;
}

/* With VRAMSCOPE_TWIN_LOST=N the GPU is lost from the Nth synchronisation on. */
static enum vs_status wait_none(struct vs_error *err)
{
    const char *lost = getenv("VRAMSCOPE_TWIN_LOST");

    if (lost && ++twin_driver.waits >= strtoull(lost, NULL, 10))
        return vs_fail(err, VS_E_IO, "cuda: a kernel: the GPU made of host memory is lost");
    return VS_OK;
}

static enum vs_status open_twin(const struct eng_kernels *host, struct eng_device *out,
                                struct vs_error *err)
{
    (void)err;
    memset(out, 0, sizeof(*out));
    out->kernels = twin_kernels_over(host);
    twin_driver.sim = eng_sim_driver_new(&(struct eng_sim_options){.total_bytes = TOTAL});
    twin_driver.counted = eng_sim_driver_get(twin_driver.sim);
    twin_driver.range_end = RANGES;
    out->driver = (struct eng_alloc_driver){.segment_alloc = segment_alloc,
                                            .segment_free = segment_free,
                                            .range_reserve = range_reserve,
                                            .range_release = range_release,
                                            .range_map = range_map,
                                            .range_unmap = range_unmap,
                                            .mem_info = mem_info};
    strcpy(out->info.name, "a GPU made of host memory");
    out->info.capability = TWIN_CAPABILITY;
    for (int i = 0; i < 3; i++)
        out->info.pci[i] = -1;
    out->info.total_bytes = TOTAL;
    out->info.free_bytes = TOTAL;
    out->watch = watch;
    out->wait = wait_none;
    out->set_workspace = twin_set_workspace;
    out->conv_ways = twin_conv_ways;
    out->close = close_twin;
    twin_open();
    return VS_OK;
}

extern const struct eng_device_plugin eng_device_plugin;
__attribute__((visibility("default"))) const struct eng_device_plugin eng_device_plugin = {
    .version = ENG_PLUGIN_VERSION, .tables = ENG_PLUGIN_TABLES, .open = open_twin};
