/*
 * replay/inspect/block_module.h - which module a block belongs to, and why something about a block is not known.
 *
 * For:            report, `why`, the tree of modules.
 * Must not know:  where the text goes.
 * Invariant:      a block without a shape, or without a module, has a sentence that says why.
 */
#ifndef RPL_BLOCK_MODULE_H
#define RPL_BLOCK_MODULE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "replay/inspect/alive.h"

/*
 * The module's path in the name of a parameter or buffer, "layer1.0.conv1" of "layer1.0.conv1.weight", or in what a
 * program's trace says of it, "exp_avg of layer1.0.conv1.weight"; of *len bytes, borrowed from `name`. Of a buffer of
 * several, "2 parameters, layer1.0.weight to layer1.2.bias", it is the module that all are in. A name without a point
 * is of the model itself, and so is one that only an optimizer knows: *len is 0.
 */
const char *rpl_name_module(const char *name, size_t *len);

/*
 * Append the path of the module that a block belongs to: of a parameter, buffer, gradient or state of an optimizer that
 * of the parameter, of any other block that of the module that was running when it was allocated. False, and nothing is
 * appended: it belongs to none. A parameter of the model itself has the path "". why: of a live block.
 */
bool rpl_block_module(const struct rpl_trace *trace, const struct rpl_why *why,
                      struct vs_text *out);

/* Append why the shape of a block is not known; false, and nothing is appended: it is. */
bool rpl_block_no_shape(const struct rpl_trace *trace, const struct rpl_why *why,
                        struct vs_text *out);

/* The same of its module: why rpl_block_module gives none. */
bool rpl_block_no_module(const struct rpl_trace *trace, const struct rpl_why *why,
                         struct vs_text *out);

#endif
