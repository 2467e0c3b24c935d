/*
 * cli/record_process.h - the Python processes of a recorded program: what each wrote down of itself, and the trace it becomes.
 *
 * For:            `vramscope record` of a program.
 * Must not know:  how a program is run.
 * Invariant:      what tracer/python/vramscope_torch.py writes is read here and nowhere else.
 */
#ifndef CLI_RECORD_PROCESS_H
#define CLI_RECORD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"

#define CLI_NO_RANK (-1)

/*
 * A process in which PyTorch used CUDA. Heap memory.
 *
 * name      of its files in the folder, without their endings; ordered by time
 * rank      of a distributed run, or CLI_NO_RANK
 * program   its arguments, torch: PyTorch's version; "" where not known
 * dumped    when the snapshot was made: "exit", "oom", "term"; NULL: never
 * error     the first thing that went wrong, or NULL
 * trace     the file it became, once it has
 */
struct cli_process {
    char *name;
    pid_t pid;
    int64_t rank;
    char *program;
    char *torch;
    char *dumped;
    char *error;
    char *trace;
};

struct cli_processes {
    struct cli_process *items;
    size_t count, cap;
};

/*
 * Read what the processes wrote into `folder`, the program's first: that with the pid `root`, else the first of the lowest rank, else the
 * first. Never fails: what cannot be read is not there.
 */
void cli_processes_read(const char *folder, pid_t root, struct cli_processes *out);
void cli_processes_release(struct cli_processes *processes);

/*
 * Make a trace of the process's snapshot and set `trace`. is_first: it gets the name `out`, else one made of `out` and its rank, or its
 * pid. Errors as those of cli/importer.h.
 */
VS_MUST_USE enum vs_status cli_process_import(struct cli_process *process, const char *folder,
                                              const char *out, bool is_first, bool force,
                                              struct vs_error *err);
/* `out` with `word` before its ending: trace.WORD.db. Heap memory. */
char *cli_trace_name(const char *out, const char *word) VS_MUST_USE;

#endif
