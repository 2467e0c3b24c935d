/*
 * cli/doctor/json.c - the findings as JSON.
 *
 * For:            `vramscope doctor --json`.
 * Must not know:  how anything was found.
 * Invariant:      what is not known or not there is null; docs/formats/json.md has the names.
 */
#include "base/json.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/verdict.h"
#include "cli/version.h"

/* A string, or null where it is empty. */
static void put(struct vs_json *json, const char *key, const char *text)
{
    vs_json_put_string(json, key, text && *text ? text : NULL);
}

static void library_put(struct vs_json *json, const char *key, const struct doc_library *library)
{
    vs_json_key(json, key);
    vs_json_object_flat(json);
    vs_json_put_bool(json, "works", !*library->why);
    put(json, "path", library->path);
    put(json, "why", library->why);
    vs_json_end(json);
}

static void python_put(struct vs_json *json, const struct doc_python *p)
{
    vs_json_key(json, "python");
    vs_json_object(json);
    vs_json_put_string(json, "asked", p->asked);
    put(json, "path", p->path);
    put(json, "version", p->version);
    put(json, "machine", p->machine);
    put(json, "libc", p->libc);
    put(json, "why", p->why);
    vs_json_end(json);
    vs_json_key(json, "torch");
    if (!*p->torch) {
        vs_json_null(json);
        return;
    }
    vs_json_object(json);
    put(json, "path", p->torch);
    put(json, "version", p->torch_version);
    put(json, "cuda", p->cuda);
    put(json, "hip", p->hip);
    put(json, "missing", p->missing);
    put(json, "why", p->torch_why);
    vs_json_end(json);
}

static void gpus_put(struct vs_json *json, const struct smi *smi)
{
    vs_json_key(json, "gpus");
    vs_json_array(json);
    for (size_t i = 0; i < smi->count; i++) {
        const struct smi_gpu *gpu = &smi->gpus[i];

        vs_json_object_flat(json);
        vs_json_put_uint(json, "index", gpu->index);
        put(json, "name", gpu->name);
        vs_json_key(json, "total");
        if (gpu->total == SMI_UNKNOWN || *gpu->why)
            vs_json_null(json);
        else
            vs_json_uint(json, gpu->total);
        put(json, "error", gpu->why);
        vs_json_end(json);
    }
    vs_json_end(json);
}

static void cache_put(struct vs_json *json, const struct doc_cache *cache)
{
    vs_json_key(json, "stub_cache");
    vs_json_object(json);
    put(json, "path", cache->folder);
    vs_json_put_uint(json, "sets", cache->sets);
    vs_json_put_uint(json, "bytes", cache->bytes);
    put(json, "why", cache->why);
    vs_json_end(json);
}

static void terminal_put(struct vs_json *json, const struct tui_term_facts *t)
{
    vs_json_key(json, "terminal");
    vs_json_object(json);
    put(json, "name", t->name);
    vs_json_put_bool(json, "is_terminal", t->is_terminal);
    vs_json_put_bool(json, "is_known", t->is_known);
    vs_json_put_bool(json, "is_utf8", t->is_utf8);
    vs_json_put_int(json, "colours", t->colours);
    vs_json_put_int(json, "columns", t->w);
    vs_json_put_int(json, "lines", t->h);
    vs_json_end(json);
}

static void verdicts_put(struct vs_json *json, const struct doc_findings *f)
{
    struct doc_verdict row;

    vs_json_put_bool(json, "records_programs", doc_records_programs(f));
    vs_json_key(json, "commands");
    vs_json_array(json);
    for (size_t i = 0; doc_verdict_at(f, i, &row); i++) {
        vs_json_object(json);
        vs_json_put_string(json, "command", row.command);
        vs_json_put_bool(json, "works", row.works);
        vs_json_put_string(json, "text", row.text);
        vs_json_end(json);
    }
    vs_json_end(json);
}

void doc_json(const struct doc_findings *f, struct vs_text *out)
{
    const struct doc_machine *m = &f->machine;
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_string(&json, "version", CLI_VERSION);
    put(&json, "program", m->program);
    put(&json, "machine", m->machine);
    put(&json, "libc", m->libc);
    python_put(&json, &f->python);
    put(&json, "driver_file", m->driver_file);
    put(&json, "driver", m->smi.driver);
    gpus_put(&json, &m->smi);
    library_put(&json, "nvml", &m->nvml);
    put(&json, "nvidia_smi", m->nvidia_smi);
    library_put(&json, "cupti", &m->cupti);
    library_put(&json, "standin", &m->standin);
    cache_put(&json, &m->cache);
    library_put(&json, "inject", &m->inject);
    library_put(&json, "cuda_device", &m->cuda);
    library_put(&json, "openblas", &m->blas);
    put(&json, "sqlite", m->sqlite);
    terminal_put(&json, &m->terminal);
    verdicts_put(&json, f);
    vs_json_end(&json);
}
