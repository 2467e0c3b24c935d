/*
 * cli/doctor/text.c - the findings for a person.
 *
 * For:            `vramscope doctor`.
 * Must not know:  how anything was found.
 * Invariant:      no line but one with a path is longer than 100 columns.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/bytes.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/verdict.h"
#include "cli/version.h"

#define NAME_COLUMNS 12
#define LINE_COLUMNS 100
#define ROW_INDENT 7

VS_PRINTF(3, 4)
static void fact(struct vs_text *out, const char *name, const char *fmt, ...)
{
    struct vs_text text = {NULL, 0, 0};
    va_list ap;

    va_start(ap, fmt);
    vs_text_addfv(&text, fmt, ap);
    va_end(ap);
    vs_text_addf(out, "  %-*s ", NAME_COLUMNS, name);
    vs_text_add_words(out, vs_text_get(&text), text.len, NAME_COLUMNS + 3, NAME_COLUMNS + 3,
                      LINE_COLUMNS);
    vs_text_add_char(out, '\n');
    vs_text_release(&text);
}

static void library_add(struct vs_text *out, const char *name, const struct doc_library *library)
{
    if (*library->why)
        fact(out, name, "no: %s", library->why);
    else
        fact(out, name, "%s", *library->path ? library->path : "found");
}

static void python_add(const struct doc_python *p, struct vs_text *out)
{
    if (*p->why) {
        fact(out, "Python", "no: %s: %s", p->asked, p->why);
        return;
    }
    fact(out, "Python", "%s, %s, %s, %s", p->version, p->path, p->machine, p->libc);
    if (!*p->torch) {
        fact(out, "PyTorch", "no: this Python has none");
        return;
    }
    fact(out, "PyTorch", "%s%s%s, %s", *p->torch_version ? p->torch_version : "of unknown version",
         *p->cuda  ? ", for CUDA "
         : *p->hip ? ", for ROCm "
                   : "",
         *p->cuda ? p->cuda : p->hip, p->torch);
    if (*p->torch_why)
        fact(out, "", "%s", p->torch_why);
    if (*p->missing)
        fact(out, "", "needs packages that are not installed: %s", p->missing);
}

static void gpus_add(const struct doc_machine *m, struct vs_text *out)
{
    char bytes[VS_BYTES_TEXT_MAX];

    if (m->driver_file)
        fact(out, "driver", "%s%s%s", m->driver_file, *m->smi.driver ? ", version " : "",
             m->smi.driver);
    else
        fact(out, "driver", "no: there is no driver of NVIDIA's on this machine");
    for (size_t i = 0; i < m->smi.count; i++) {
        const struct smi_gpu *gpu = &m->smi.gpus[i];

        if (*gpu->why)
            fact(out, "GPU", "%u: %s", gpu->index, gpu->why);
        else
            fact(out, "GPU", "%u: %s, %s", gpu->index, *gpu->name ? gpu->name : "(no name)",
                 gpu->total == SMI_UNKNOWN ? "memory not known" : vs_bytes_text(gpu->total, bytes));
    }
    if (*m->nvml.why)
        fact(out, "NVML", "no: %s", m->nvml.why);
    fact(out, "nvidia-smi", "%s", *m->nvidia_smi ? m->nvidia_smi : "no: it is not in PATH");
    library_add(out, "CUPTI", &m->cupti);
}

static void cache_add(const struct doc_cache *cache, struct vs_text *out)
{
    char bytes[VS_BYTES_TEXT_MAX];

    if (*cache->folder)
        fact(out, "stub cache", "of %" PRIu64 " installation%s of PyTorch, %s, in %s", cache->sets,
             cache->sets == 1 ? "" : "s", vs_bytes_text(cache->bytes, bytes), cache->folder);
    if (*cache->why)
        fact(out, *cache->folder ? "" : "stub cache", "cannot be kept: %s", cache->why);
}

static void terminal_add(const struct tui_term_facts *t, struct vs_text *out)
{
    char size[32] = "stdout is no terminal";

    if (t->is_terminal)
        snprintf(size, sizeof(size), "%dx%d", t->w, t->h);
    fact(out, "terminal", "%s, %s%s, %s, %d colours", size, *t->name ? t->name : "TERM not set",
         *t->name && !t->is_known ? " (not in terminfo)" : "", t->is_utf8 ? "UTF-8" : "not UTF-8",
         t->colours);
}

static void verdicts_add(const struct doc_findings *f, struct vs_text *out)
{
    struct doc_verdict row;

    for (size_t i = 0; doc_verdict_at(f, i, &row); i++) {
        vs_text_addf(out, "  %-3s  %s\n%*s", row.works ? "yes" : "no", row.command, ROW_INDENT, "");
        vs_text_add_words(out, row.text, strlen(row.text), ROW_INDENT, ROW_INDENT, LINE_COLUMNS);
        vs_text_add_char(out, '\n');
    }
}

void doc_text(const struct doc_findings *f, struct vs_text *out)
{
    const struct doc_machine *m = &f->machine;

    vs_text_addf(out, "vramscope " CLI_VERSION ", %s, %s, %s\n\nfound here\n", m->program,
                 m->machine, m->libc);
    python_add(&f->python, out);
    gpus_add(m, out);
    library_add(out, "stand-in", &m->standin);
    cache_add(&m->cache, out);
    library_add(out, "injection", &m->inject);
    library_add(out, "CUDA device", &m->cuda);
    library_add(out, "OpenBLAS", &m->blas);
    fact(out, "SQLite", "%s", m->sqlite);
    terminal_add(&m->terminal, out);
    vs_text_add(out, "\nwhat works\n");
    verdicts_add(f, out);
}
