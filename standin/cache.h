/*
 * standin/cache.h - a cache of stub libraries between runs, one folder for each installation of PyTorch.
 *
 * For:            starting fast: reading PyTorch's libraries takes longer than loading the stubs.
 * Must not know:  what the stub libraries are for.
 * Invariant:      a folder gets its name when all of its files are written, and is never changed afterwards; a folder
 *                 whose files differ from its list is not used.
 */
#ifndef STANDIN_CACHE_H
#define STANDIN_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "standin/needs.h"

/* A folder that is complete: its path, and its libraries' names. Heap memory; zero-initialise. */
struct sti_cache {
    char *folder;
    char **names;
    size_t count;
};

/* The folder of `key` below `root`. False: there is none, or it is damaged; `out` is empty then. */
bool sti_cache_find(const char *root, uint64_t key, struct sti_cache *out);
/*
 * Write the stub libraries of `needs`, settled, as the folder of `key` below `root`, which is made if need be. Several
 * processes may do so at once. VS_E_IO: it cannot be written; nothing is left behind. VS_E_OVERFLOW: see sti_stub_make.
 */
VS_MUST_USE enum vs_status sti_cache_write(const char *root, uint64_t key,
                                           const struct sti_needs *needs, struct vs_error *err);
void sti_cache_release(struct sti_cache *cache);

/*
 * The default folder: $XDG_CACHE_HOME/vramscope/standin, or below ~/.cache. False: neither XDG_CACHE_HOME nor HOME is
 * set.
 */
bool sti_cache_root(char *out, size_t size);

#endif
