/*
 * cli/cmd_smi.c - prints the memory of every GPU as the driver reports it, and the processes that use it.
 *
 * For:            `vramscope smi`.
 * Must not know:  how the driver is queried (tracer/nvml/).
 * Invariant:      a figure that the driver does not report is printed as not known, and as null in JSON.
 */
#include <stdio.h>

#include "base/bytes.h"
#include "base/json.h"
#include "cli/cmds.h"
#include "tracer/nvml/smi.h"

static const struct cli_option OPTIONS[] = {
    {"json", 0, NULL, false, "print JSON; docs/formats/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

static void add_line(struct vs_text *out, uint64_t bytes, const char *what)
{
    char text[VS_BYTES_TEXT_MAX];

    if (bytes == SMI_UNKNOWN)
        vs_text_addf(out, "  %12s  %s\n", "not known", what);
    else
        vs_text_addf(out, "  %12s  %s\n", vs_bytes_text(bytes, text), what);
}

static void add_processes(const struct smi_gpu *gpu, struct vs_text *out)
{
    char what[200];

    if (!gpu->has_processes)
        vs_text_add(out, "  the driver does not list the processes that use it\n");
    else if (!gpu->process_count)
        vs_text_add(out, "  no process that is visible here uses it\n");
    for (size_t i = 0; gpu->has_processes && i < gpu->process_count && i < SMI_PROCESSES_MAX; i++) {
        const struct smi_process *p = &gpu->processes[i];

        snprintf(what, sizeof(what), "process %u %s", p->pid, p->name);
        add_line(out, p->bytes, what);
    }
    if (gpu->process_count > SMI_PROCESSES_MAX)
        vs_text_addf(out, "  and %zu more processes\n", gpu->process_count - SMI_PROCESSES_MAX);
}

static void add_gpu(const struct smi_gpu *gpu, struct vs_text *out)
{
    vs_text_addf(out, "GPU %u  %s", gpu->index, *gpu->name ? gpu->name : "(no name)");
    if (gpu->bus >= 0)
        vs_text_addf(out, "  %08x:%02x:%02x", (unsigned)gpu->domain, (unsigned)gpu->bus,
                     (unsigned)gpu->device);
    vs_text_add_char(out, '\n');
    if (*gpu->why) {
        vs_text_addf(out, "  %s\n", gpu->why);
        return;
    }
    add_line(out, gpu->total, "total");
    add_line(out, gpu->used, "used by all processes together, as nvidia-smi prints it");
    add_line(out, gpu->reserved, "reserved by the driver and the firmware");
    add_line(out, gpu->free, "free");
    add_processes(gpu, out);
}

static void add_text(const struct smi *smi, struct vs_text *out)
{
    vs_text_addf(out, "driver %s, %zu GPU%s\n", *smi->driver ? smi->driver : "of unknown version",
                 smi->count, smi->count == 1 ? "" : "s");
    for (size_t i = 0; i < smi->count; i++)
        add_gpu(&smi->gpus[i], out);
    vs_text_add(out,
                "A process has its CUDA context and the kernels it loaded in this, and what its "
                "allocator keeps;\n`vramscope report` of a run recorded on a GPU tells them "
                "apart.\n");
}

static void put_bytes(struct vs_json *json, const char *key, uint64_t bytes)
{
    vs_json_key(json, key);
    if (bytes == SMI_UNKNOWN)
        vs_json_null(json);
    else
        vs_json_uint(json, bytes);
}

static void processes_json(const struct smi_gpu *gpu, struct vs_json *json)
{
    vs_json_key(json, "processes");
    if (*gpu->why || !gpu->has_processes) {
        vs_json_null(json);
        return;
    }
    vs_json_array(json);
    for (size_t i = 0; i < gpu->process_count && i < SMI_PROCESSES_MAX; i++) {
        vs_json_object_flat(json);
        vs_json_put_uint(json, "pid", gpu->processes[i].pid);
        put_bytes(json, "bytes", gpu->processes[i].bytes);
        vs_json_put_string(json, "name", *gpu->processes[i].name ? gpu->processes[i].name : NULL);
        vs_json_end(json);
    }
    vs_json_end(json);
}

static void add_json(const struct smi *smi, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_string(&json, "driver", *smi->driver ? smi->driver : NULL);
    vs_json_key(&json, "gpus");
    vs_json_array(&json);
    for (size_t i = 0; i < smi->count; i++) {
        const struct smi_gpu *gpu = &smi->gpus[i];

        vs_json_object(&json);
        vs_json_put_uint(&json, "index", gpu->index);
        vs_json_put_string(&json, "name", *gpu->name ? gpu->name : NULL);
        vs_json_put_string(&json, "error", *gpu->why ? gpu->why : NULL);
        put_bytes(&json, "total", gpu->total);
        put_bytes(&json, "used", gpu->used);
        put_bytes(&json, "reserved", gpu->reserved);
        put_bytes(&json, "free", gpu->free);
        processes_json(gpu, &json);
        vs_json_end(&json);
    }
    vs_json_end(&json);
    vs_json_end(&json);
}

static int run(const struct cli_args *args)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_text text = {NULL, 0, 0};
    struct smi smi = {.count = 0};
    struct nvml_api api;
    int status;

    if (nvml_api_load(&api, &err) || smi_read(&api, &smi, &err))
        return cli_fail(&err);
    if (cli_args_has(args, "json"))
        add_json(&smi, &text);
    else
        add_text(&smi, &text);
    status = cli_print(&text);
    vs_text_release(&text);
    smi_release(&smi);
    return status;
}

const struct cli_cmd cli_cmd_smi = {
    .name = "smi",
    .usage = "[--json]",
    .summary = "Show the memory of each GPU by process, as the driver counts it",
    .help = "As nvidia-smi prints it, from the same library. Where a number differs from what a "
            "framework "
            "counts,\n`vramscope report` of a run recorded with --device cuda says what the rest "
            "is.\n",
    .options = OPTIONS,
    .positionals_min = 0,
    .positionals_max = 0,
    .toggles = false,
    .run = run,
};
