/*
 * replay/report/parameters.h - how many parameters each module of a net holds.
 *
 * For:            the report; lessons about the size of a net.
 * Must not know:  how the figures are shown.
 * Invariant:      the counts of all rows add up to the parameters of the net; a parameter that two modules share is
 *                 counted once, under its first name.
 */
#ifndef RPL_PARAMETERS_H
#define RPL_PARAMETERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "replay/trace/trace.h"

/* module: path, "" is the model itself; owned. count: elements; bytes: requested for them. */
struct rpl_parameters_row {
    char *module;
    uint64_t count;
    uint64_t bytes;
};

/* Zero-initialised: empty. rows: row_count of them, the most parameters first, equal ones in the order of the model. */
struct rpl_parameters {
    struct rpl_parameters_row *rows;
    size_t row_count;
    size_t row_cap;
    uint64_t count;
    uint64_t bytes;
};

/*
 * Fill `out`, which is zeroed or released, from the parameters in use when the first step begins (the end of the trace
 * if none does). Empty for an imported trace. Release it, also after a failure. Reads the set-up only.
 */
VS_MUST_USE enum vs_status rpl_parameters_fill(struct rpl_parameters *out, struct rpl_trace *trace,
                                               struct vs_error *err);
void rpl_parameters_release(struct rpl_parameters *parameters);

/*
 * Append the parts of the model (its direct children) and the modules with the most parameters; nothing where there are
 * none. Append the JSON member "parameters_by_module": an array with all rows.
 */
void rpl_parameters_text(const struct rpl_parameters *parameters, struct vs_text *out);
void rpl_parameters_json(const struct rpl_parameters *parameters, struct vs_json *json);

/* The parameters of the module at `path` (as in PyTorch: "layer1.0"; "" is the whole model) and of all below it. */
uint64_t rpl_parameters_below(const struct rpl_parameters *parameters, const char *path);

#endif
