/*
 * cli/record/record_process.h - the processes of a recorded program: what each wrote down of itself, and the traces that become of it.
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

#include "cli/record/record_driver.h"

#define CLI_NO_RANK (-1)

/*
 * A process that used CUDA. Heap memory.
 *
 * name      of its files in the folder, without their endings, ordered by time; NULL: PyTorch was not in it, or not heard of
 * rank      of a distributed run, or CLI_NO_RANK
 * program   its arguments, torch: PyTorch's version; "" where not known
 * dumped    when the snapshot was made: "exit", "oom", "term"; NULL: never
 * error     the first thing that went wrong, or NULL
 * trace     what its trace is called; NULL: it has none.
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
 * The processes that wrote something into `folder` or have a trace among the driver's, the program itself first: that with the pid `root`,
 * else that of the lowest rank, else the first that used CUDA. Never fails: what cannot be read is not there.
 */
void cli_processes_read(const char *folder, const struct cli_driver *driver, pid_t root,
                        struct cli_processes *out);
void cli_processes_release(struct cli_processes *processes);

/*
 * Name the traces, and move the driver's files out of the way or to these names. The first process that has something gets `out`, others a
 * name made of `out` and their rank, or their pid: trace.rank1.db, trace.4711.db. Beside a snapshot the driver's calls are
 * trace.driver.db; those of a second device have gpu1 in their names. force: what has a rank's name is replaced.
 */
void cli_processes_name(struct cli_processes *processes, struct cli_driver *driver, const char *out,
                        bool force);

/* Make the trace of a process's snapshot. Errors as those of cli/importer.h. */
VS_MUST_USE enum vs_status cli_process_import(const struct cli_process *process, const char *folder,
                                              const char *driver_trace, bool force,
                                              struct vs_error *err);

#endif
