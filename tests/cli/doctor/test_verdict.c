/*
 * tests/cli/doctor/test_verdict.c - the verdicts of `vramscope doctor` for invented machines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cmds.h"
#include "cli/doctor/verdict.h"

#define PROGRAM "record -- python3 …"
#define SIMULATED "record --gpu NAME -- python3 …"
#define DRIVER_CALLS "record -- PROGRAM …, which is not PyTorch's"

/* A laptop without a GPU, on which all else is there. */
static struct doc_findings *laptop(void)
{
    struct doc_findings *f = vs_calloc(1, sizeof(*f));

    f->python.asked = "python3";
    strcpy(f->python.path, "/usr/bin/python3");
    strcpy(f->python.version, "3.11.7");
    strcpy(f->python.machine, "x86_64");
    strcpy(f->python.libc, "glibc 2.36");
    strcpy(f->python.torch, "/site/torch");
    strcpy(f->python.torch_version, "2.8.0");
    strcpy(f->python.cuda, "12.8");
    strcpy(f->machine.sqlite, "3.40.1");
    strcpy(f->machine.nvml.why, "nvml: libnvidia-ml.so.1 is not found");
    strcpy(f->machine.cuda.why, "device cuda: there is no such plug-in");
    strcpy(f->machine.terminal.name, "xterm");
    f->machine.terminal.is_known = true;
    f->machine.terminal.places = true;
    f->machine.terminal.is_utf8 = true;
    return f;
}

static struct doc_verdict row_of(const struct doc_findings *f, const char *command)
{
    struct doc_verdict row;

    for (size_t i = 0; doc_verdict_at(f, i, &row); i++)
        if (strcmp(row.command, command) == 0)
            return row;
    fail_msg("there is no row `%s`", command);
    return row;
}

/* text: in the row's; NULL: any. */
static void expect(const struct doc_findings *f, const char *command, bool works, const char *text)
{
    const struct doc_verdict row = row_of(f, command);

    if (row.works != works || (text && !strstr(row.text, text)))
        fail_msg("%s: %s: %s; expected %s: …%s…", command, row.works ? "yes" : "no", row.text,
                 works ? "yes" : "no", text ? text : "");
}

static void doctor_has_a_verdict_for_each_command(void **state)
{
    struct doc_findings *f = laptop();
    struct doc_verdict row;
    const struct cli_cmd *cmd;

    (void)state;
    for (size_t i = 0; (cmd = cli_cmd_at(i)) != NULL; i++) {
        bool is_there = false;

        for (size_t k = 0; doc_verdict_at(f, k, &row); k++) {
            const char *found = strstr(row.command, cmd->name);
            const size_t len = strlen(cmd->name);

            is_there |= found && (found == row.command || found[-1] == ' ') &&
                        (!found[len] || found[len] == ' ' || found[len] == ',');
        }
        if (!is_there)
            fail_msg("no row has `%s`", cmd->name);
    }
    vs_free(f);
}

static void without_a_gpu_a_program_runs_over_a_simulated_one(void **state)
{
    struct doc_findings *f = laptop();

    (void)state;
    expect(f, PROGRAM, true, "PyTorch 2.8.0 runs over a simulated GPU");
    expect(f, DRIVER_CALLS, false, "no driver of NVIDIA's");
    expect(f, "record NET --device cuda", false, "no driver of NVIDIA's");
    expect(f, "smi", false, "needs NVML");
    expect(f, "tui", true, NULL);
    assert_true(doc_records_programs(f));
    vs_free(f);
}

static void with_a_driver_a_program_runs_on_the_gpu(void **state)
{
    struct doc_findings *f = laptop();

    (void)state;
    f->machine.driver_file = "/dev/nvidiactl";
    f->machine.nvml.why[0] = '\0';
    f->machine.cuda.why[0] = '\0';
    expect(f, PROGRAM, true, "on this machine's GPU");
    expect(f, SIMULATED, true, "simulated GPU");
    expect(f, DRIVER_CALLS, true, NULL);
    expect(f, "record NET --device cuda", true, NULL);
    strcpy(f->machine.standin.why, "vramscope_standin.so is not beside the program");
    expect(f, PROGRAM, true, NULL);
    expect(f, SIMULATED, false, "vramscope_standin.so");
    strcpy(f->machine.nvml.why, "nvml: nvmlInit: driver and library are of other versions");
    expect(f, PROGRAM, true, "other versions");
    vs_free(f);
}

static void what_python_lacks_is_reported_with_what_to_install(void **state)
{
    static const struct {
        size_t at;
        const char *value;
        const char *text;
    } CASES[] = {
        {offsetof(struct doc_python, why), "No such file or directory", "vramscope doctor PYTHON"},
        {offsetof(struct doc_python, version), "3.7.16", "from Python 3.8 on"},
        {offsetof(struct doc_python, version), "2.7.18", "from Python 3.8 on"},
        {offsetof(struct doc_python, torch), "", "pip install --no-deps torch"},
        {offsetof(struct doc_python, torch_why), "it is built for the CPU alone", "CPU alone"},
        {offsetof(struct doc_python, missing), "sympy jinja2", "pip install sympy jinja2"},
        {offsetof(struct doc_python, libc), "other", "does not use glibc"},
        {offsetof(struct doc_python, machine), "aarch64", "on x86_64 alone"},
        {offsetof(struct doc_python, cuda), "11.8", "CUDA 12 and 13"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct doc_findings *f = laptop();

        strcpy((char *)&f->python + CASES[i].at, CASES[i].value);
        expect(f, PROGRAM, false, CASES[i].text);
        expect(f, SIMULATED, false, CASES[i].text);
        assert_false(doc_records_programs(f));
        vs_free(f);
    }
}

static void what_the_machine_lacks_is_reported(void **state)
{
    struct doc_findings *f = laptop();

    (void)state;
    strcpy(f->machine.cache.why, "/home/x/.cache is on a file system mounted noexec");
    expect(f, PROGRAM, true, "made anew at each start: /home/x/.cache");
    strcpy(f->machine.blas.why, "products on the CPU need OpenBLAS");
    expect(f, "record NET --device cpu", false, "OpenBLAS");
    expect(f, "record NET --device meta", true, NULL);
    strcpy(f->machine.lessons_why, "no folder of lessons");
    expect(f, "lesson", false, "no folder");
    f->machine.driver_file = "/dev/nvidiactl";
    strcpy(f->machine.cupti.why, "cupti: libcupti.so.13 is not found");
    expect(f, DRIVER_CALLS, false, "nvidia-cuda-cupti");
    strcpy(f->machine.inject.why, "vramscope_inject.so is not beside the program");
    expect(f, DRIVER_CALLS, false, "vramscope_inject.so");
    vs_free(f);
}

static void what_the_terminal_lacks_is_reported(void **state)
{
    struct doc_findings *f = laptop();

    (void)state;
    f->machine.terminal.is_utf8 = false;
    expect(f, "tui", true, "not UTF-8");
    f->machine.terminal.places = false;
    expect(f, "tui", false, "cannot place its cursor");
    f->machine.terminal.is_known = false;
    expect(f, "tui", false, "TERM=xterm is not in this machine's terminfo");
    f->machine.terminal.name[0] = '\0';
    expect(f, "tui", false, "TERM is not set");
    vs_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doctor_has_a_verdict_for_each_command),
        cmocka_unit_test(without_a_gpu_a_program_runs_over_a_simulated_one),
        cmocka_unit_test(with_a_driver_a_program_runs_on_the_gpu),
        cmocka_unit_test(what_python_lacks_is_reported_with_what_to_install),
        cmocka_unit_test(what_the_machine_lacks_is_reported),
        cmocka_unit_test(what_the_terminal_lacks_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
