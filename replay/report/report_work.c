/*
 * replay/report/report_work.c - the report's part on the work of a GPU, as text and JSON; see report.h.
 *
 * Must not know:  CUPTI, where the text goes.
 * Invariant:      what is not known is said beside what is: a sum that lacks something is not shown as if it did not.
 */
#include "replay/report/report.h"

#include <inttypes.h>

#include "base/bytes.h"

#define OPS_SHOWN 8
#define TASKS_SHOWN 6
#define FOREIGN_SHOWN 8
#define NAME_W 44

static const char *const ROLES[] = {"forward", "backward", "recompute"};

static const char *role_name(uint8_t role)
{
    return role < 3 ? ROLES[role] : "";
}

static double share(uint64_t ns, uint64_t of)
{
    return of ? 100.0 * (double)ns / (double)of : 0.0;
}

static uint64_t count_of(const struct rpl_work *work, enum sto_task_kind kind)
{
    uint64_t count = 0;

    for (size_t i = 0; i < work->task_count; i++)
        if (work->tasks[i].kind == kind)
            count += work->tasks[i].count;
    return count;
}

static uint64_t bytes_of(const struct rpl_work *work, enum sto_task_kind kind)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < work->task_count; i++)
        if (work->tasks[i].kind == kind)
            bytes += work->tasks[i].bytes;
    return bytes;
}

/* ---- text ---- */

static void add_count(struct vs_text *out, uint64_t count, const char *one, const char *many)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s %s", vs_bytes_exact_text(count, buf), count == 1 ? one : many);
}

static void add_ms(struct vs_text *out, uint64_t ns)
{
    vs_text_addf(out, "%.3f ms", (double)ns / 1e6);
}

static void add_totals(const struct rpl_work *work, struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_add(out, "\nOn the GPU: ");
    add_ms(out, work->device_ns);
    vs_text_add(out, " in ");
    add_count(out, count_of(work, STO_TASK_KERNEL), "kernel", "kernels");
    vs_text_add(out, ", ");
    add_count(out, count_of(work, STO_TASK_COPY), "copy", "copies");
    vs_text_addf(out, " of %s, ", vs_bytes_text(bytes_of(work, STO_TASK_COPY), buf));
    add_count(out, count_of(work, STO_TASK_FILL), "fill", "fills");
    vs_text_add(out, "; of no op ");
    add_ms(out, work->outside_ns);
    vs_text_add_char(out, '\n');
    if (work->recompute_ns) {
        vs_text_add(out, "  a second time, inside checkpoints: ");
        add_ms(out, work->recompute_ns);
        vs_text_addf(out, " (%.1f %%)\n", share(work->recompute_ns, work->device_ns));
    }
    if (work->untimed) {
        vs_text_add(out, "  without a time: ");
        add_count(out, work->untimed, "of these\n", "of these\n");
    }
    if (work->untied) {
        vs_text_add(out, "  of an op that is not known: ");
        add_count(out, work->untied, "record\n", "records\n");
    }
    if (work->lost) {
        vs_text_add(out, "  lost by CUPTI, so that there was more: ");
        add_count(out, work->lost, "record\n", "records\n");
    }
}

static void add_ops(const struct rpl_report *report, struct vs_text *out)
{
    const struct rpl_work *work = &report->work;

    if (work->op_count && work->ops[0].ns)
        vs_text_addf(out, "\n  %-*s%-10s%10s%10s%14s\n", NAME_W - 4, "op", "role", "calls",
                     "kernels", "ms");
    for (size_t i = 0; i < work->op_count && i < OPS_SHOWN && work->ops[i].ns; i++) {
        const struct rpl_op_work *op = &work->ops[i];

        vs_text_addf(out, "  %-*.*s%-10s%10" PRIu64 "%10" PRIu64 "%14.3f%7.1f %%\n", NAME_W - 4,
                     NAME_W - 5, rpl_trace_string(report->trace, op->name), role_name(op->role),
                     op->calls, op->tasks, (double)op->ns / 1e6, share(op->ns, work->device_ns));
    }
}

static void add_tasks(const struct rpl_work *work, struct vs_text *out)
{
    if (work->task_count)
        vs_text_addf(out, "\n  %-*s%-6s%10s%14s\n", NAME_W + 10, "what ran", "", "times", "ms");
    for (size_t i = 0; i < work->task_count && i < TASKS_SHOWN; i++) {
        const struct rpl_task *task = &work->tasks[i];
        char buf[256];
        const char *name = rpl_kernel_short(task->name, buf, sizeof(buf));

        vs_text_addf(out, "  %-*.*s%-6s%10" PRIu64 "%14.3f%7.1f %%\n", NAME_W + 10, NAME_W + 9,
                     name, task->kind == STO_TASK_KERNEL ? "" : sto_task_kind_name(task->kind),
                     task->count, (double)task->ns / 1e6, share(task->ns, work->device_ns));
    }
}

static void add_foreign_row(const struct rpl_report *report, const struct rpl_foreign *f,
                            struct vs_text *out)
{
    const struct vs_location *location = rpl_trace_location(report->trace, f->location);
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "  %s", f->api);
    if (*f->library)
        vs_text_addf(out, " of %s", f->library);
    vs_text_addf(out, ": %" PRIu64 " of %s", f->allocs, vs_bytes_text(f->alloc_bytes, buf));
    if (f->frees)
        vs_text_addf(out, ", %" PRIu64 " freed of %s", f->frees, vs_bytes_text(f->free_bytes, buf));
    if (location->op)
        vs_text_addf(out, ", in %s", rpl_trace_string(report->trace, location->op));
    if (location->line)
        vs_text_addf(out, " of line %" PRIu32, location->line);
    vs_text_add_char(out, '\n');
}

static void add_foreign(const struct rpl_report *report, struct vs_text *out)
{
    const struct rpl_work *work = &report->work;

    vs_text_add(out, "\nMemory of the GPU: ");
    add_count(out, work->memory, "allocation or free", "allocations and frees");
    if (!work->foreign_count && !work->pools && !work->unseen)
        vs_text_add(out, ", all requested by this run's device\n");
    else
        vs_text_add(out, "\n");
    if (work->unseen) {
        vs_text_add(out, "  requested, but not seen by CUPTI: ");
        add_count(out, work->unseen, "of these\n", "of these\n");
    }
    if (work->pools) {
        vs_text_add(out, "  allocated by others: ");
        add_count(out, work->pools, "memory pool\n", "memory pools\n");
    }
    if (work->foreign_count)
        vs_text_add(out,
                    "  not requested by this run's device, and in none of the figures above:\n");
    for (size_t i = 0; i < work->foreign_count && i < FOREIGN_SHOWN; i++)
        add_foreign_row(report, &work->foreign[i], out);
    if (work->foreign_count > FOREIGN_SHOWN)
        vs_text_addf(out, "  and %zu more\n", work->foreign_count - FOREIGN_SHOWN);
}

void rpl_report_work_text(const struct rpl_report *report, struct vs_text *out)
{
    const struct rpl_work *work = &report->work;

    if (!work->is_measured && work->why)
        vs_text_addf(out, "\nNo times of the GPU: %s\n", work->why);
    if (!work->is_measured)
        return;
    add_totals(work, out);
    add_ops(report, out);
    add_tasks(work, out);
    add_foreign(report, out);
}

/* ---- JSON ---- */

static void ops_json(const struct rpl_report *report, struct vs_json *json)
{
    const struct rpl_work *work = &report->work;

    vs_json_key(json, "by_op");
    vs_json_array(json);
    for (size_t i = 0; i < work->op_count; i++) {
        vs_json_object_flat(json);
        vs_json_put_string(json, "op", rpl_trace_string(report->trace, work->ops[i].name));
        vs_json_put_string(json, "role", role_name(work->ops[i].role));
        vs_json_put_uint(json, "calls", work->ops[i].calls);
        vs_json_put_uint(json, "count", work->ops[i].tasks);
        vs_json_put_uint(json, "ns", work->ops[i].ns);
        vs_json_end(json);
    }
    vs_json_end(json);
}

static void tasks_json(const struct rpl_work *work, struct vs_json *json)
{
    vs_json_key(json, "by_task");
    vs_json_array(json);
    for (size_t i = 0; i < work->task_count; i++) {
        vs_json_object_flat(json);
        vs_json_put_string(json, "kind", sto_task_kind_name(work->tasks[i].kind));
        vs_json_put_string(json, "name", work->tasks[i].name);
        vs_json_put_uint(json, "count", work->tasks[i].count);
        vs_json_put_uint(json, "ns", work->tasks[i].ns);
        vs_json_put_uint(json, "bytes", work->tasks[i].bytes);
        vs_json_end(json);
    }
    vs_json_end(json);
}

static void phases_json(const struct rpl_work *work, struct vs_json *json)
{
    vs_json_key(json, "by_phase");
    vs_json_object_flat(json);
    for (size_t i = 0; i < VS_PHASE_COUNT; i++)
        vs_json_put_uint(json, vs_phase_name((enum vs_phase)i), work->by_phase[i]);
    vs_json_end(json);
}

static void foreign_json(const struct rpl_report *report, struct vs_json *json)
{
    const struct rpl_work *work = &report->work;

    vs_json_key(json, "foreign");
    vs_json_array(json);
    for (size_t i = 0; i < work->foreign_count; i++) {
        const struct rpl_foreign *f = &work->foreign[i];
        const struct vs_location *location = rpl_trace_location(report->trace, f->location);

        vs_json_object_flat(json);
        vs_json_put_string(json, "api", f->api);
        vs_json_put_string(json, "library", f->library);
        vs_json_put_string(json, "op", rpl_trace_string(report->trace, location->op));
        vs_json_put_uint(json, "line", location->line);
        vs_json_put_uint(json, "allocs", f->allocs);
        vs_json_put_uint(json, "alloc_bytes", f->alloc_bytes);
        vs_json_put_uint(json, "frees", f->frees);
        vs_json_put_uint(json, "free_bytes", f->free_bytes);
        vs_json_end(json);
    }
    vs_json_end(json);
}

void rpl_report_work_json(const struct rpl_report *report, struct vs_json *json)
{
    const struct rpl_work *work = &report->work;

    vs_json_key(json, "gpu_work");
    if (!work->is_measured && !work->why) {
        vs_json_null(json);
        return;
    }
    vs_json_object(json);
    vs_json_put_bool(json, "measured", work->is_measured);
    vs_json_put_string(json, "why_not", work->why);
    vs_json_put_uint(json, "device_ns", work->device_ns);
    vs_json_put_uint(json, "outside_ns", work->outside_ns);
    vs_json_put_uint(json, "recompute_ns", work->recompute_ns);
    vs_json_put_uint(json, "kernels", count_of(work, STO_TASK_KERNEL));
    vs_json_put_uint(json, "copies", count_of(work, STO_TASK_COPY));
    vs_json_put_uint(json, "copied_bytes", bytes_of(work, STO_TASK_COPY));
    vs_json_put_uint(json, "fills", count_of(work, STO_TASK_FILL));
    vs_json_put_uint(json, "filled_bytes", bytes_of(work, STO_TASK_FILL));
    vs_json_put_uint(json, "lost_records", work->lost);
    vs_json_put_uint(json, "untimed", work->untimed);
    vs_json_put_uint(json, "untied", work->untied);
    vs_json_put_uint(json, "memory_seen", work->memory);
    vs_json_put_uint(json, "memory_unseen", work->unseen);
    vs_json_put_uint(json, "pools", work->pools);
    phases_json(work, json);
    ops_json(report, json);
    tasks_json(work, json);
    foreign_json(report, json);
    vs_json_end(json);
}
