/*
 * cli/record/record_process.h - the processes of a recorded program: what each one reported, and the traces made from
 * it.
 *
 * For:            `vramscope record` of a program.
 * Must not know:  how a program is started.
 * Invariant:      only this file parses what tracer/python/vramscope_torch.py writes.
 */
#ifndef CLI_RECORD_PROCESS_H
#define CLI_RECORD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"

#include "base/toggle.h"
#include "cli/record/record_driver.h"
#include "whatif/recipe.h"

#define CLI_NO_RANK (-1)

/*
 * A process that used CUDA. The strings are heap memory.
 *
 * name      name of its files in the folder, without extension; sorts by time; NULL: the process did not load PyTorch,
 *           or reported nothing
 * rank      its rank in a distributed run, or CLI_NO_RANK; world: how many ranks there are, as text
 * visible   its CUDA_VISIBLE_DEVICES without blanks; NULL: not set
 * program   its arguments; "": not known
 * torch     its version of PyTorch; "": not known
 * simulated  the GPU that was simulated for it; NULL: none
 * reads     how often it read values of a simulated GPU, and how many bytes, as text: "12 48"; read: where it did so
 *           first: "train.py:12 main"; read_kinds: the same by kind: "3 item train.py:12 main | 1 nonzero moe.py:7 f";
 *           NULL: not known
 * collectives  how often NCCL's collectives were called, by name: "12 4096 ncclAllReduce | 2 512 ncclBroadcast", with
 *           the bytes that it gave; NULL: not known
 * scripts   the user's own files that it loaded
 * own       what the script itself says where a toggle could say something else: "batch 32", a line each
 * mistakes  likely mistakes that were found while it ran (replay/report/mistakes.h), a line each; NULL: none
 * refused   the parts of toggles that were not applied, a line each; NULL: all were
 * dumped    when the snapshot was taken: "exit", "oom", "term" or "interval" (while it ran); NULL: never
 * error     the first error, or NULL
 * trace     path of its trace; NULL: it has none
 */
struct cli_process {
    char *name;
    pid_t pid;
    int64_t rank;
    char *program;
    char *torch;
    char *simulated;
    char *reads;
    char *read;
    char *read_kinds;
    char *world;
    char *visible;
    char *collectives;
    char *dumped;
    struct wif_words scripts;
    struct wif_words own;
    char *refused;
    char *mistakes;
    char *error;
    char *trace;
};

struct cli_processes {
    struct cli_process *items;
    size_t count, cap;
};

/*
 * Find the processes that wrote a file into `folder` or have a trace of driver calls. The main process comes first: the
 * one with the pid `root`, or else the one with the lowest rank, or else the first that used CUDA. Never fails: files
 * that cannot be read are ignored.
 */
void cli_processes_read(const char *folder, const struct cli_driver *driver, pid_t root,
                        struct cli_processes *out);
void cli_processes_release(struct cli_processes *processes);

/*
 * Choose the names of the traces, and rename the files of driver calls accordingly. The first process with any data
 * gets `out`; the others get a name made from `out` and their rank or pid: trace.rank1.db, trace.4711.db. If the
 * process also has a snapshot, its driver calls are in trace.driver.db; the names for a second device contain gpu1.
 * force: replace existing files that have the name of a rank.
 */
void cli_processes_name(struct cli_processes *processes, struct cli_driver *driver, const char *out,
                        bool force);

/*
 * What all processes of a program have in common. All is borrowed.
 *
 * folder   the recorder's
 * out      the trace that is wanted, an absolute path: a process writes a snapshot beside it while it runs
 * recipe   how the program can be run again, without its scripts; NULL: this process is not the one that stands for it
 * toggles  those that were applied
 * force    replace an existing file
 */
struct cli_import {
    const char *folder;
    const char *out;
    const struct wif_recipe *recipe;
    const struct vs_toggles *toggles;
    bool force;
};

/*
 * Write the trace for the snapshot of a process. The name of the folder is recorded in meta, as what the traces of one
 * recording have in common. driver_trace: recorded in meta as its trace of driver calls; NULL: none. Errors: those of
 * cli/importer.h.
 */
VS_MUST_USE enum vs_status cli_process_import(const struct cli_process *process,
                                              const struct cli_import *import,
                                              const char *driver_trace, struct vs_error *err);
/* How long ago the snapshot of a process was written, in whole seconds; 0 where that is not known. */
int64_t cli_process_age_s(const struct cli_process *process, const struct cli_import *import);
/* Delete what a process wrote beside the trace while it ran, if anything. */
void cli_process_saved_remove(const struct cli_process *process, const struct cli_import *import);

#endif
