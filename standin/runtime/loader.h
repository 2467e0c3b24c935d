/*
 * standin/runtime/loader.h - stub libraries in this process: opened, with their targets filled in.
 *
 * For:            standin/runtime/enter.c, and the names of functions that are not simulated.
 * Must not know:  where stub libraries come from.
 * Invariant:      a library that others can find has all its targets; none is ever closed.
 */
#ifndef STANDIN_LOADER_H
#define STANDIN_LOADER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "standin/needs.h"

struct sti_entry;

/*
 * Open the stub library of a file, and fill in its targets: simulated functions, functions that do nothing, and
 * for all others sti_unknown_function. VS_E_IO: the dynamic linker refuses it; VS_E_DAMAGED: it is not a stub.
 */
VS_MUST_USE enum vs_status sti_loader_file(const char *path, struct vs_error *err);
/*
 * The same for a library that is made in memory. is_global: its functions are found by all that is
 * opened later, not only by libraries that need its name.
 */
VS_MUST_USE enum vs_status sti_loader_need(const struct sti_need *need, bool is_global,
                                           struct vs_error *err);

/* Is a stub library of this name loaded; has one of them the function? */
bool sti_loader_has(const char *soname);
bool sti_loader_has_function(const char *soname, const char *function);

/*
 * A function for lookups by name of a driver function that is not simulated; the same one for the same name. NULL: it
 * cannot be created.
 */
void *sti_loader_unknown(const char *function);

/* The function an entry belongs to, and its library. */
const char *sti_loaded_name(const struct sti_entry *entry, const char **library);

#endif
