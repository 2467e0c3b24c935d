/*
 * engine/device/plugin.h - a device that comes as a library of its own, and how it is found.
 *
 * For:            whoever starts a run; engine/device/cuda/ is such a library. One program so runs with and without
 *                 CUDA.
 * Must not know:  which libraries a device needs in turn.
 * Invariant:      a plug-in of another version is refused, not called.
 */
#ifndef ENG_DEVICE_PLUGIN_H
#define ENG_DEVICE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/alloc/alloc.h"
#include "engine/device/kernels.h"

/*
 * Changes with every change of struct eng_device, struct eng_kernels or struct eng_alloc_driver; that one grew is
 * found out by itself.
 */
#define ENG_PLUGIN_VERSION 6
#define ENG_PLUGIN_TABLES ((uint32_t)(sizeof(struct eng_kernels) + sizeof(struct eng_device)))

/*
 * versions as CUDA writes them: 13000 is 13.0; bytes free before anything was allocated; pci: domain, bus, device, -1
 * where unknown
 */
struct eng_device_info {
    char name[128];
    int capability; /* 90: 9.0 */
    int processors;
    int driver_version;
    int runtime_version;
    int pci[3];
    uint64_t total_bytes;
    uint64_t free_bytes;
};

/*
 * Memory that the device took by cudaMalloc, gave back by cudaFree (bytes 0), or created without an address, by
 * cuMemCreate.
 */
enum eng_device_memory { ENG_DEVICE_TAKEN, ENG_DEVICE_GIVEN, ENG_DEVICE_CREATED };
typedef void eng_device_watch_fn(void *user, enum eng_device_memory what, uint64_t address,
                                 uint64_t bytes);

/* Which of a convolution's three tensors is computed from the other two. */
enum eng_conv_kind { ENG_CONV_FORWARD, ENG_CONV_INPUT, ENG_CONV_WEIGHT };

/* One way to compute a convolution: the bytes it works in, and the device's own number for it. */
struct eng_conv_way {
    uint64_t bytes;
    int number;
};
#define ENG_CONV_WAYS 8

/*
 * Memory for the kernel that is called next, which uses none of its own beside: scratch of its own, in which a
 * convolution takes `way`, and what the library of products works in. NULL and 0: it has to find some itself, which
 * nobody then hears of.
 */
struct eng_device_workspace {
    void *scratch;
    uint64_t scratch_bytes;
    void *library;
    uint64_t library_bytes;
    const struct eng_conv_way *way;
};

/*
 * kernels        storages with a block lie at the block's address; all others, and scratch of ops, where
 *                kernels->mem_get says
 * driver         where segments come from; valid until close
 * watch          from now on `report` is called right after the device did such a thing, whatever for; NULL: not any
 *                more
 * wait           until all that was queued is done. Fails with the first call that failed since the device was opened
 * set_workspace  from now on, until it is called again (copied)
 * conv_ways      ways to compute a convolution, best first, by sizes, strides and dtypes alone. Returns how many; 0: a
 *                call failed, which is kept for `wait`
 */
struct eng_device {
    const struct eng_kernels *kernels;
    struct eng_alloc_driver driver;
    struct eng_device_info info;
    void (*watch)(eng_device_watch_fn *report, void *user);
    enum vs_status (*wait)(struct vs_error *err);
    void (*set_workspace)(const struct eng_device_workspace *workspace);
    int (*conv_ways)(enum eng_conv_kind kind, const struct eng_view *x, const struct eng_view *w,
                     const struct eng_view *y, const struct eng_conv2d *p,
                     struct eng_conv_way *out);
    void (*close)(void);
};

/*
 * What a plug-in exports under the name "eng_device_plugin". One device is open at a time.
 * host: the kernels for operands that all lie on the host; must outlive the device.
 */
struct eng_device_plugin {
    uint32_t version;
    uint32_t tables; /* ENG_PLUGIN_TABLES of its build */
    enum vs_status (*open)(const struct eng_kernels *host, struct eng_device *out,
                           struct vs_error *err);
};

/*
 * Where the library vramscope_<name>.so is: in the folder of VRAMSCOPE_PLUGINS, beside the program, or in
 * ../lib/vramscope from there. False: in none of them, and
 * `out` is empty.
 */
bool eng_plugin_find(const char *name, char *out, size_t size);

/*
 * Opens the device of the library vramscope_<name>.so, found as above. The caller closes it; the library stays loaded.
 *
 * VS_E_UNSUPPORTED: no such library, one that cannot be loaded, of another version, or there is no device; the text
 * says which.
 */
VS_MUST_USE enum vs_status eng_device_open(const char *name, struct eng_device *out,
                                           struct vs_error *err);

#endif
