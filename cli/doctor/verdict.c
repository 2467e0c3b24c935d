/*
 * cli/doctor/verdict.c - see verdict.h.
 */
#include "cli/doctor/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "standin/torch.h"

#define INSTALL_TORCH "`pip install --no-deps torch` is enough where a GPU is simulated"

#define NO_DRIVER "there is no driver of NVIDIA's on this machine"

/* Fill the row: it works, or not. */
VS_PRINTF(3, 4)
static void say(struct doc_verdict *out, bool works, const char *fmt, ...)
{
    va_list ap;

    out->works = works;
    va_start(ap, fmt);
    vsnprintf(out->text, sizeof(out->text), fmt, ap);
    va_end(ap);
}

static bool is_gpu_here(const struct doc_machine *m)
{
    return m->driver_file != NULL;
}

/* ---- programs ---- */

/* 13020 for "13.2"; 0: not known. */
static int cuda_number(const char *text)
{
    int major = 0;
    int minor = 0;

    return sscanf(text, "%d.%d", &major, &minor) == 2 ? major * 1000 + minor * 10 : 0;
}

static bool is_old_python(const char *version)
{
    int major = 0;
    int minor = 0;

    return sscanf(version, "%d.%d", &major, &minor) == 2 &&
           (major < 3 || (major == 3 && minor < 8));
}

/* Says why nothing of PyTorch can be recorded at all, and returns true; otherwise false. */
static bool lacks_torch(const struct doc_python *p, struct doc_verdict *out)
{
    if (*p->why)
        say(out, false, "%s: %s. Install Python, or name one: vramscope doctor PYTHON", p->asked,
            p->why);
    else if (is_old_python(p->version))
        say(out, false, "Python %s is too old: PyTorch's history is recorded from Python 3.8 on",
            p->version);
    else if (!*p->torch)
        say(out, false, "%s has no PyTorch. Install its build for CUDA; " INSTALL_TORCH, p->path);
    else if (*p->torch_why)
        say(out, false, "%s", p->torch_why);
    else if (*p->missing)
        say(out, false, "PyTorch %s needs packages that are not installed: pip install %s",
            p->torch_version, p->missing);
    else
        return false;
    return true;
}

static void judge_simulated(const struct doc_findings *f, struct doc_verdict *out)
{
    const struct doc_python *p = &f->python;
    const int cuda = cuda_number(p->cuda);

    if (lacks_torch(p, out))
        return;
    if (*f->machine.standin.why)
        say(out, false,
            "%s; it is built on x86-64 alone, and `pip install vramscope` brings it along",
            f->machine.standin.why);
    else if (strncmp(p->libc, "glibc", 5) != 0)
        say(out, false, "%s does not use glibc, as PyTorch's builds for CUDA do", p->path);
    else if (strcmp(p->machine, "x86_64") != 0)
        say(out, false, "%s runs on %s, and a GPU is simulated on x86_64 alone", p->path,
            p->machine);
    else if (cuda && cuda < STI_CUDA_OLDEST)
        say(out, false, "this PyTorch is built for CUDA %s; supported are CUDA 12 and 13", p->cuda);
    else
        say(out, true, "PyTorch %s runs over a simulated GPU%s%s", p->torch_version,
            *f->machine.cache.why ? "; stub libraries are made anew at each start: " : "",
            f->machine.cache.why);
}

static void judge_program(const struct doc_findings *f, struct doc_verdict *out)
{
    const struct doc_machine *m = &f->machine;

    if (!is_gpu_here(m)) {
        judge_simulated(f, out);
        return;
    }
    if (lacks_torch(&f->python, out))
        return;
    say(out, true, "PyTorch %s, on this machine's GPU%s%s", f->python.torch_version,
        *m->nvml.why ? "; but its driver does not answer: " : "", m->nvml.why);
}

static void judge_driver_calls(const struct doc_findings *f, struct doc_verdict *out)
{
    const struct doc_machine *m = &f->machine;

    if (!is_gpu_here(m))
        say(out, false, NO_DRIVER);
    else if (*m->inject.why)
        say(out, false, "%s; `make` builds it where CUPTI's headers are", m->inject.why);
    else if (*m->cupti.why)
        say(out, false, "%s. `pip install nvidia-cuda-cupti` has the library", m->cupti.why);
    else
        say(out, true, "calls of the driver, by any library");
}

/* ---- nets ---- */

static void judge_meta(const struct doc_findings *f, struct doc_verdict *out)
{
    (void)f;
    say(out, true, "shapes and lifetimes; needs nothing");
}

static void judge_cpu(const struct doc_findings *f, struct doc_verdict *out)
{
    if (*f->machine.blas.why)
        say(out, false, "%s", f->machine.blas.why);
    else
        say(out, true, "real arithmetic on the CPU");
}

static void judge_cuda(const struct doc_findings *f, struct doc_verdict *out)
{
    if (!is_gpu_here(&f->machine))
        say(out, false, NO_DRIVER);
    else if (*f->machine.cuda.why)
        say(out, false, "%s", f->machine.cuda.why);
    else
        say(out, true, "real arithmetic on the GPU");
}

/* ---- the rest ---- */

static void judge_traces(const struct doc_findings *f, struct doc_verdict *out)
{
    say(out, true, "with SQLite %s; nothing else is needed", f->machine.sqlite);
}

static void judge_lesson(const struct doc_findings *f, struct doc_verdict *out)
{
    if (*f->machine.lessons_why)
        say(out, false, "%s", f->machine.lessons_why);
    else
        say(out, true, "the lessons are here");
}

static void judge_tui(const struct doc_findings *f, struct doc_verdict *out)
{
    const struct tui_term_facts *t = &f->machine.terminal;

    if (!*t->name)
        say(out, false, "TERM is not set; TERM=xterm-256color is usually right");
    else if (!t->is_known)
        say(out, false,
            "TERM=%s is not in this machine's terminfo; TERM=xterm-256color is understood by most "
            "terminals, and the package ncurses-term has more of them",
            t->name);
    else if (!t->places)
        say(out, false, "a terminal of type `%s` cannot place its cursor", t->name);
    else if (!t->is_utf8)
        say(out, true, "without line drawing: the locale is not UTF-8 (LC_ALL=C.UTF-8 is)");
    else
        say(out, true, t->is_terminal ? "in this terminal" : "in a terminal of type `%s`", t->name);
}

static void judge_smi(const struct doc_findings *f, struct doc_verdict *out)
{
    if (*f->machine.nvml.why)
        say(out, false, "needs NVML, which comes with NVIDIA's driver; see above");
    else
        say(out, true, "%zu GPU%s, driver %s", f->machine.smi.count,
            f->machine.smi.count == 1 ? "" : "s", f->machine.smi.driver);
}

static const struct {
    const char *command;
    void (*judge)(const struct doc_findings *f, struct doc_verdict *out);
} ROWS[] = {
    {"record -- python3 …", judge_program},
    {"record --gpu NAME -- python3 …", judge_simulated},
    {"record -- PROGRAM …, which is not PyTorch's", judge_driver_calls},
    {"record NET --device meta", judge_meta},
    {"record NET --device cpu", judge_cpu},
    {"record NET --device cuda", judge_cuda},
    {"report, whatif, diff, check, sql, match, advise, mcp", judge_traces},
    {"import, export, toggles, ops, doctor", judge_traces},
    {"why, python, which run a program again", judge_simulated},
    {"sweep", judge_meta},
    {"lesson", judge_lesson},
    {"tui", judge_tui},
    {"smi", judge_smi},
};

bool doc_verdict_at(const struct doc_findings *f, size_t i, struct doc_verdict *out)
{
    if (i >= sizeof(ROWS) / sizeof(ROWS[0]))
        return false;
    *out = (struct doc_verdict){.command = ROWS[i].command};
    ROWS[i].judge(f, out);
    return true;
}

bool doc_records_programs(const struct doc_findings *f)
{
    struct doc_verdict row = {.command = NULL};

    judge_program(f, &row);
    return row.works;
}
