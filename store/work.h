/*
 * store/work.h - writes and reads the GPU work of a trace's ops, and device memory not allocated by PyTorch.
 *
 * For:            tracer/cupti/ writes it, replay/trace/work.c reads it.
 * Must not know:  how it was measured.
 * Invariant:      a trace without these rows is valid and complete.
 */
#ifndef STO_WORK_H
#define STO_WORK_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "store/reader.h"
#include "store/writer.h"

/* The numbers are stored in the file, with the names that sto_task_kind_name() returns. */
enum sto_task_kind { STO_TASK_KERNEL, STO_TASK_COPY, STO_TASK_FILL, STO_TASK_KIND_COUNT };

const char *sto_task_kind_name(enum sto_task_kind kind);

/* A kind of device work: a kernel, identified by its symbol, or a copy, by its direction. id: 1 … STO_TASKS_MAX - 1. */
#define STO_TASKS_MAX 65536u
struct sto_task {
    uint32_t id;
    enum sto_task_kind kind;
    const char *name;
};

/*
 * How often a task ran for one op, its total duration, and the number of bytes it copied or filled.
 *
 * op_seq  number of the innermost op_begin event inside which it was queued; 0: outside any op
 */
struct sto_work {
    uint64_t op_seq;
    uint32_t task;
    uint64_t count;
    uint64_t ns;
    uint64_t bytes;
};

/*
 * Device memory that the caching allocator did not request: the function that was called, the library that called it
 * (empty: unknown) and the op inside which this happened (0: none).
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

/*
 * Errors of these functions: as in store/writer.h. A task must be written once, before work that refers to it is read.
 * Work of one op may be written in parts, which are added up.
 */
VS_MUST_USE enum vs_status sto_writer_tasks(struct sto_writer *w, const struct sto_task *tasks,
                                            size_t count, struct vs_error *err);
VS_MUST_USE enum vs_status sto_writer_work(struct sto_writer *w, const struct sto_work *work,
                                           size_t count, struct vs_error *err);
VS_MUST_USE enum vs_status sto_writer_foreign(struct sto_writer *w,
                                              const struct sto_foreign *foreign, size_t count,
                                              struct vs_error *err);

/*
 * Call `each` for every row: tasks in order of id, work by op and task, foreign memory in descending order of bytes.
 * Does nothing if the file's format version has no such tables. Strings are valid during the call. Errors: the file
 * cannot be read; VS_E_DAMAGED: a task of an unknown kind.
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
