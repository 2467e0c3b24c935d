/*
 * cli/doctor/cmd_doctor.c - what this machine has, and what of vramscope will therefore work.
 *
 * For:            `vramscope doctor`.
 * Must not know:  how a fact is found or judged.
 * Invariant:      it never fails: what is missing is its result.
 */
#include "base/mem.h"
#include "cli/cmds.h"
#include "cli/doctor/doctor.h"
#include "cli/doctor/machine.h"
#include "cli/doctor/python.h"
#include "cli/doctor/verdict.h"

/* Python on a busy file system of a cluster, found through a wrapper of pyenv or conda. */
#define PYTHON_LIMIT_MS 30000

static const struct cli_option OPTIONS[] = {
    {"json", 0, NULL, false, "print JSON; docs/formats/json.md lists the fields"},
    {NULL, 0, NULL, false, NULL},
};

static int run(const struct cli_args *args)
{
    struct doc_findings *f = vs_calloc(1, sizeof(*f));
    struct vs_text text = {NULL, 0, 0};
    bool is_written;
    bool works;

    doc_python_query(args->positional_count ? args->positionals[0] : "python3", PYTHON_LIMIT_MS,
                     &f->python);
    doc_machine_find(&f->machine);
    if (cli_args_has(args, "json"))
        doc_json(f, &text);
    else
        doc_text(f, &text);
    is_written = cli_print(&text) == 0;
    works = doc_records_programs(f);
    doc_machine_release(&f->machine);
    vs_text_release(&text);
    vs_free(f);
    return is_written && works ? 0 : 1;
}

const struct cli_cmd cli_cmd_doctor = {
    .name = "doctor",
    .usage = "[PYTHON] [--json]",
    .summary = "Show what is installed here, and what will therefore work",
    .help = "Looks at PYTHON (default: python3, as the shell finds it) and the PyTorch that it "
            "would import, at GPUs,\nthe driver, CUPTI and the terminal, and at what belongs to "
            "vramscope. For each command it says whether it\nworks here, and if not what to "
            "install. PyTorch is not imported, and nothing is changed.\n\n"
            "The exit status is 0 if programs that use PyTorch can be recorded here, on a real "
            "or on a\nsimulated GPU, and 1 if not.\n\n"
            "    vramscope doctor ~/venv/bin/python3\n",
    .options = OPTIONS,
    .positionals_min = 0,
    .positionals_max = 1,
    .toggles = false,
    .run = run,
};
