/*
 * store/work.h - what a GPU did for the ops of a trace, and memory that was taken behind the allocator's back: written and read.
 *
 * For:            tracer/cupti/ writes it, replay/trace/work.c reads it.
 * Must not know:  where it was measured.
 * Invariant:      it stands beside the events: a trace without it is whole.
 */
#ifndef STO_WORK_H
#define STO_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/reader.h"
#include "store/writer.h"

/* Numbers as in sto_task_kind_name, whose texts stand in the file. */
enum sto_task_kind { STO_TASK_KERNEL, STO_TASK_COPY, STO_TASK_FILL, STO_TASK_KIND_COUNT };

const char *sto_task_kind_name(enum sto_task_kind kind);

/* Something that a device runs: a kernel by its symbol, a copy by its direction. id: 1 … STO_TASKS_MAX - 1. */
#define STO_TASKS_MAX 65536u
struct sto_task {
    uint32_t id;
    enum sto_task_kind kind;
    const char *name;
};

/*
 * How often a task ran for one op, how long in all, and how many bytes it copied or filled.
 *
 * op_seq  number of the op_begin event inside of which it was queued, the innermost; 0: of none
 */
struct sto_work {
    uint64_t op_seq;
    uint32_t task;
    uint64_t count;
    uint64_t ns;
    uint64_t bytes;
};

/*
 * Memory of the device that the allocator did not ask for, by the function that was called, the library that called it (empty: not known) and
 * the op inside of which that was (0: none).
 */
struct sto_foreign {
    const char *api;
    const char *library;
    uint64_t op_seq;
    uint64_t allocs;
    uint64_t alloc_bytes;
    uint64_t frees;
    uint64_t free_bytes;
};

/* Errors of these: as all of store/writer.h. A task is given once, before work of it is read. Work of an op may come in parts: what was given before is added to. */
VS_MUST_USE enum vs_status sto_writer_tasks(struct sto_writer *w, const struct sto_task *tasks,
                                            size_t count, struct vs_error *err);
VS_MUST_USE enum vs_status sto_writer_work(struct sto_writer *w, const struct sto_work *work,
                                           size_t count, struct vs_error *err);
VS_MUST_USE enum vs_status sto_writer_foreign(struct sto_writer *w,
                                              const struct sto_foreign *foreign, size_t count,
                                              struct vs_error *err);

/*
 * Call `each` for every row: tasks in order of their ids, work by op and task, foreign memory the most bytes first. Nothing where the file is
 * of a version without them. Strings are borrowed for the call. Errors: the file cannot be read; VS_E_DAMAGED: a task of an unknown kind.
 */
typedef void sto_task_fn(void *user, const struct sto_task *task);
typedef void sto_work_fn(void *user, const struct sto_work *work);
typedef void sto_foreign_fn(void *user, const struct sto_foreign *foreign);
VS_MUST_USE enum vs_status sto_reader_tasks(struct sto_reader *r, sto_task_fn *each, void *user,
                                            struct vs_error *err);
VS_MUST_USE enum vs_status sto_reader_work(struct sto_reader *r, sto_work_fn *each, void *user,
                                           struct vs_error *err);
VS_MUST_USE enum vs_status sto_reader_foreign(struct sto_reader *r, sto_foreign_fn *each,
                                              void *user, struct vs_error *err);

#endif
