/*
 * tests/programs/observed/rows.c - see rows.h.
 */
#include "tests/programs/observed/rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/programs/corpus.h"
#include "tests/skip.h"

/* `pipeline infer` is not here: when its rank 1 frees a message depends on when it came, without the observer, too. */
static struct corpus_case rows[] = {
    {.command = "plain_loop"},
    {.command = "conv_amp"},
    {.command = "lstm"},
    {.command = "host_blocks"},
    {.command = "out_of_memory"},
    {.command = "observed/out_of_memory_optimizer"},
    {.command = "observed/out_of_memory_places"},
    {.command = "values"},
    {.command = "prefetch"},
    {.command = "prefetch", .option = "--async", .value = "late", .has_no_figures = true},
    {.command = "uniform", .option = "--values", .value = "uniform"},
    {.command = "mem_track"},
    {.command = "holders"},
    {.command = "observed/threads", .is_partly = true},
    {.command = "observed/reused"},
    {.command = "observed/replaced"},
    {.command = "observed/classes"},
    {.command = "observed/freed"},
    {.command = "observed/roots"},
    {.command = "observed/places"},
    {.command = "observed/leaves"},
    {.command = "observed/by_hand"},
    {.command = "observed/by_hand module"},
    {.command = "observed/transforms", .is_partly = true},
    {.command = "observed/stopped conv"},
    {.command = "compiled", .modules = "triton"},
    {.command = "observed/dropped"},
    {.command = "lm_lstm"},
    {.command = "unet3d"},
    {.command = "experts"},
    {.command = "graphs"},
    {.command = "copies"},
    {.command = "forks"},
    {.command = "libraries"},
    {.command = "selective_checkpoint"},
    {.command = "save_on_cpu"},
    {.command = "spawn 3", .option = "--gpus", .value = "3", .traces = 3},
    {.command = "two_ranks", .ranks = 2},
    {.command = "objects", .ranks = 3},
    {.command = "fsdp1", .ranks = 2},
    {.command = "fsdp1 mixed", .ranks = 2},
    {.command = "fsdp2", .ranks = 2},
    {.command = "fsdp2 mixed keep", .ranks = 2},
    {.command = "fsdp2 offload", .ranks = 2},
    {.command = "tensor_parallel", .ranks = 2},
    {.command = "pipeline", .ranks = 2},
    {.command = "context_parallel", .ranks = 2},
    {.command = "ranks ddp", .ranks = 2},
    {.command = "ranks zero", .ranks = 2},
    {.command = "ranks mesh", .ranks = 4},
    {.command = "missing_rank",
     .option = "--gpus",
     .value = "2",
     .traces = 2,
     .status = 3,
     .has_no_figures = true},
    {.command = "toggles/autoencoder", .has_no_figures = true},
    {.command = "toggles/convnet", .has_no_figures = true},
    {.command = "toggles/encoder", .has_no_figures = true},
    {.command = "toggles/gan", .has_no_figures = true},
    {.command = "toggles/mlp", .has_no_figures = true},
    {.command = "toggles/recurrent", .has_no_figures = true},
    {.command = "toggles/regression", .has_no_figures = true},
    {.command = "toggles/schedule", .has_no_figures = true},
    {.command = "toggles/siamese", .has_no_figures = true},
    {.command = "toggles/unet", .has_no_figures = true},
};

/*
 * Not programs by themselves, or without events: figures and hand are imported, blocks records others, test_nets and
 * test_sample_nets have those of as_net and sample, and a rank of late_rank waits for half a minute and allocates
 * nothing.
 */
static const char *const EXCEPTIONS[] = {"figures",       "as_net",          "late_rank",
                                         "toggles/hand",  "observed/sample", "observed/blocks",
                                         "observed/stuck"};

#define COUNT (sizeof(rows) / sizeof(rows[0]))

/* The first run allocates what Inductor needs to measure; what it compiles is kept for those that are compared. */
static void compile_first(const struct corpus_case *row)
{
    struct program p;

    if (system("command -v gcc >/dev/null || command -v clang >/dev/null") != 0)
        tests_skip("torch.compile needs a C compiler");
    corpus_python(row->modules);
    p = corpus_record(row->command, 0, CORPUS_GPU);
    program_release(&p);
}

static void check(void **state)
{
    const struct corpus_case *row = *state;

    if (row->modules && strcmp(row->modules, "triton") == 0)
        compile_first(row);
    corpus_check_case(row);
}

size_t rows_tests(bool of_ranks, struct CMUnitTest *out)
{
    size_t count = 0;

    for (size_t i = 0; i < COUNT; i++)
        if ((rows[i].ranks || rows[i].traces) == of_ranks) {
            assert_true(count < ROWS_MAX);
            out[count++] = (struct CMUnitTest){rows[i].command, check, NULL, NULL, &rows[i]};
        }
    return count;
}

static bool is_listed(const char *name)
{
    const size_t len = strlen(name);

    for (size_t i = 0; i < sizeof(EXCEPTIONS) / sizeof(EXCEPTIONS[0]); i++)
        if (strcmp(EXCEPTIONS[i], name) == 0)
            return true;
    for (size_t i = 0; i < COUNT; i++)
        if (strcspn(rows[i].command, " ") == len && strncmp(rows[i].command, name, len) == 0)
            return true;
    return false;
}

void no_program_is_left_out(void **state)
{
    static const char ROOT[] = "tests/programs/";
    glob_t found = {.gl_pathc = 0};

    (void)state;
    assert_int_equal(glob("tests/programs/*.py", 0, NULL, &found), 0);
    assert_int_equal(glob("tests/programs/observed/*.py", GLOB_APPEND, NULL, &found), 0);
    assert_int_equal(glob("tests/programs/toggles/*.py", GLOB_APPEND, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char name[128];

        snprintf(name, sizeof(name), "%s", found.gl_pathv[i] + sizeof(ROOT) - 1);
        name[strlen(name) - strlen(".py")] = '\0';
        if (!is_listed(name))
            fail_msg("%s is neither recorded both ways nor an exception", name);
    }
    globfree(&found);
}
