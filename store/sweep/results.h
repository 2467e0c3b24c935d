/*
 * store/sweep/results.h - the results of a sweep: one SQLite file.
 *
 * For:            `vramscope sweep`, and what shows its results.
 * Must not know:  how a configuration is run.
 * Invariant:      a configuration has one result or none; each is there in full. Whatever ends the writing program, the
 *                 file has what was committed before.
 *
 * docs/formats/sweep.md describes the tables.
 */
#ifndef STO_RESULTS_H
#define STO_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/event.h"

#define STO_RESULT_TEXT_MAX 512
#define STO_RESULT_COLLECTIVES_MAX 8

/* What one process gives to the collectives of one name in a step: as struct lang_collective of lang/run/run.h. */
struct sto_collective {
    char name[24];
    uint64_t count;
    uint64_t bytes;
    uint64_t sent;
};

/*
 * The result of one configuration. It has no pointers, so it can be sent to another process.
 *
 * is_refused    it cannot be run: `reason` says why, and nothing else is set
 * is_ended      with is_refused: the process that ran it ended before there was a result; such a one is not kept
 * fits          it runs to its end on the device; if not, the figures are those of a device without a limit
 * batch, processes, sharing   samples of a process in a step; processes that train together; processes that share a
 *               batch, as with tp, cp and pp: 1 where each has its own
 * allocated, requested, reserved   the highest of each, in bytes: PyTorch's max_memory_…
 * step, phase   of the highest allocated bytes
 * steps, total_flops, recompute_flops   of the whole run
 * host_bytes    of saved tensors that were copied to the host and back, of the whole run
 * collectives   of the last step; collective_count of them
 * notes         parts of toggles that were not applied, a line each, perhaps cut; "": none
 */
struct sto_result {
    bool is_refused;
    bool is_ended;
    bool fits;
    uint64_t batch;
    uint64_t processes;
    uint64_t sharing;
    uint64_t parameters;
    uint64_t allocated;
    uint64_t requested;
    uint64_t reserved;
    int64_t step;
    enum vs_phase phase;
    uint64_t steps;
    uint64_t total_flops;
    uint64_t recompute_flops;
    uint64_t host_bytes;
    struct sto_collective collectives[STO_RESULT_COLLECTIVES_MAX];
    size_t collective_count;
    char reason[STO_RESULT_TEXT_MAX];
    char notes[STO_RESULT_TEXT_MAX];
};

/* A toggle of a configuration. */
struct sto_setting {
    const char *toggle;
    const char *value;
};

/*
 * What all results of a file have in common. Texts are borrowed of a head that is given, and the file's of one that was
 * read.
 *
 * net, text    the net file and what it says
 * capacity     of the device, in bytes; 0: unlimited
 * version      of the program
 */
struct sto_results_head {
    const char *net;
    const char *text;
    uint64_t seed;
    uint64_t capacity;
    const char *version;
};

struct sto_results;

/* Whether there is a file of results at `path`. */
bool sto_results_is_file(const char *path);

/*
 * Open the results of such a sweep for writing; the file is made where there is none. VS_E_EXISTS: the file has results
 * of another net, seed, capacity, version or format, which the text names. VS_E_FORMAT: it is another file.
 * VS_E_VERSION: it was written by a newer version. VS_E_IO: it cannot be written.
 */
VS_MUST_USE enum vs_status sto_results_open(const char *path, const struct sto_results_head *head,
                                            struct sto_results **out, struct vs_error *err);

/* Open results for reading. Errors: VS_E_NOT_FOUND and those above. */
VS_MUST_USE enum vs_status sto_results_read(const char *path, struct sto_results **out,
                                            struct vs_error *err);

/* What the file says of its sweep; borrowed. */
const struct sto_results_head *sto_results_head_get(const struct sto_results *results);

/*
 * Add the result of a configuration, unless the file has it. config: its text; settings: the same, as toggles. It is in
 * the file after the next sto_results_commit. VS_E_IO: it cannot be written.
 */
VS_MUST_USE enum vs_status sto_results_add(struct sto_results *results, const char *config,
                                           const struct sto_setting *settings, size_t count,
                                           const struct sto_result *result, struct vs_error *err);
VS_MUST_USE enum vs_status sto_results_commit(struct sto_results *results, struct vs_error *err);

/* Call `each` for all results, in the order in which they were added. Everything is valid during the call. */
typedef void sto_result_fn(void *user, const char *config, const struct sto_setting *settings,
                           size_t count, const struct sto_result *result);
VS_MUST_USE enum vs_status sto_results_each(struct sto_results *results, sto_result_fn *each,
                                            void *user, struct vs_error *err);

/* What was not committed is lost. Accepts NULL. */
void sto_results_close(struct sto_results *results);

#endif
