/*
 * tests/e2e/test_record_ranks.c - `mpirun vramscope record`: several processes that train a net for real. Skipped where
 * there is no Open MPI.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/program.h"
#include "tests/skip.h"

#define RANKS 4
#define STEPS 3
#define EVENTS                                                                                     \
    "select kind, size, block, step, phase, stream from event where kind in ('alloc', 'free')"

/* Three blocks and a head, without dropout: each process would draw numbers of its own. */
#define NET_BODY                                                                                   \
    "import torch\n"                                                                               \
    "import torch.nn as nn\n"                                                                      \
    "import torch.nn.functional as F\n"                                                            \
    "class Block(nn.Module):\n"                                                                    \
    "    def __init__(self):\n"                                                                    \
    "        super().__init__()\n"                                                                 \
    "        self.norm = nn.LayerNorm(24)\n"                                                       \
    "        self.up = nn.Linear(24, 50)\n"                                                        \
    "        self.down = nn.Linear(50, 24)\n"                                                      \
    "    def forward(self, x):\n"                                                                  \
    "        return x + self.down(F.gelu(self.up(self.norm(x))))\n"                                \
    "def model():\n"                                                                               \
    "    return nn.Sequential(nn.Linear(10, 24), nn.Sequential(Block(), "                          \
    "Block(), Block()), nn.Linear(24, 7))\n"                                                       \
    "def batch(n):\n"                                                                              \
    "    return torch.randn(n, 10), torch.randint(0, 7, (n,))\n"
static const char NET[] = NET_BODY "defaults = dict(optimizer='adamw')\n";
/* AdamW's eps is zero in float16. */
static const char NET_IN_HALF[] = NET_BODY "defaults = dict(optimizer='momentum', half='on')\n";

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

static const char *program(void)
{
    const char *given = getenv("VRAMSCOPE");

    return given ? given : "build/vramscope";
}

/* Both the plug-in beside the program and mpirun are needed. */
static void need_mpi(void)
{
    struct program p;
    char script[512];
    int status;

    snprintf(script, sizeof(script),
             "command -v mpirun && test -r \"$(dirname '%s')\"/vramscope_mpi.so", program());
    p = program_shell(script);
    status = p.status;
    program_release(&p);
    if (status)
        tests_skip("there is no Open MPI: mpirun, or vramscope_mpi.so beside the program");
}

/*
 * `mpirun -n RANKS SHELL-COMMAND`; of the command, $OMPI_COMM_WORLD_RANK is the rank and $V the program. Open MPI keeps
 * memory of its own until the process has ended: leaks are not looked for.
 */
static struct program mpirun(const char *command)
{
    char script[2048];

    snprintf(script, sizeof(script),
             "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 V='%s' F='%s'\n"
             "export ASAN_OPTIONS=detect_leaks=0\n"
             "exec mpirun --oversubscribe -n %d --mca btl self,vader,tcp sh -c '%s' 2>&1",
             program(), program_folder(), RANKS, command);
    return program_shell(script);
}

static void succeeds(struct program p)
{
    if (p.status)
        fail_msg("status %d:\n%s%s", p.status, p.out, p.err);
    program_release(&p);
}

/* steps[0] is the set-up. */
static double loss_of(const char *trace, int step)
{
    struct program p = program_run("report", trace, "--json", NULL);
    char path[64];
    char *text;
    double loss;

    assert_int_equal(p.status, 0);
    snprintf(path, sizeof(path), "$.steps[%d].loss", step + 1);
    text = json_text(p.out, path);
    assert_non_null(text);
    loss = strtod(text, NULL);
    free(text);
    program_release(&p);
    return loss;
}

static const char *trace_of(const char *name, int rank)
{
    char file[64];

    snprintf(file, sizeof(file), "%s.rank%d.db", name, rank);
    return program_path(file);
}

/* The mean of the ranks' losses is that of one process with the whole batch, to this part of it. */
static void losses_equal(const char *name, double tolerance)
{
    for (int step = 0; step < STEPS; step++) {
        const double expected = loss_of(program_path("whole.db"), step);
        double sum = 0.0;

        for (int rank = 0; rank < RANKS; rank++)
            sum += loss_of(trace_of(name, rank), step);
        if (fabs(sum / RANKS - expected) > tolerance * fabs(expected))
            fail_msg("step %d of %s: %.9g, not %.9g", step, name, sum / RANKS, expected);
    }
}

static char *events_of(const char *trace)
{
    struct program p = program_run("sql", trace, EVENTS, NULL);
    char *text = p.out;

    assert_int_equal(p.status, 0);
    assert_non_null(strstr(text, "alloc"));
    p.out = NULL;
    program_release(&p);
    return text;
}

/* Each allocation and free of a rank is that of a run of this rank without data. */
static void events_equal(const char *shard)
{
    for (int rank = 0; rank < RANKS; rank++) {
        const char *predicted = program_path("predicted.db");
        char number[8], *ours, *theirs;

        snprintf(number, sizeof(number), "%d", rank);
        succeeds(program_run("record", program_path("net.py"), "-f", "-o", predicted, "--device",
                             "meta", "--batch", "2", "--shard", shard, "--world", "4", "--rank",
                             strcmp(shard, "ddp") == 0 ? "0" : number, NULL));
        ours = events_of(predicted);
        theirs = events_of(trace_of(shard, rank));
        if (strcmp(ours, theirs) != 0)
            fail_msg("rank %d of %s has other events than its prediction", rank, shard);
        free(ours);
        free(theirs);
    }
}

static void trains(const char *net, const char *shard, double tolerance)
{
    char command[256];

    need_mpi();
    succeeds(program_run("record", program_file("net.py", net), "-f", "-o",
                         program_path("whole.db"), "--device", "cpu", "--batch", "8", NULL));
    snprintf(command, sizeof(command),
             "$V record $F/net.py --device cpu --batch 2 --shard %s -f -o $F/%s.db", shard, shard);
    succeeds(mpirun(command));
    losses_equal(shard, tolerance);
    events_equal(shard);
}

static void fully_sharded_ranks_train_as_one_process_does(void **state)
{
    (void)state;
    trains(NET, "fsdp", 1e-5);
}

static void replicated_ranks_train_as_one_process_does(void **state)
{
    (void)state;
    trains(NET, "ddp", 1e-5);
}

static void ranks_with_a_part_of_the_optimizer_train_as_one_process_does(void **state)
{
    (void)state;
    trains(NET, "zero1", 1e-5);
}

/* float16 has 11 bits, and here the parameters have no more. */
static void ranks_in_half_precision_train_as_one_process_does(void **state)
{
    (void)state;
    trains(NET_IN_HALF, "fsdp", 1e-3);
    trains(NET_IN_HALF, "zero1", 1e-3);
}

static void fails(struct program p, const char *part)
{
    if (!p.status || !strstr(p.out, part))
        fail_msg("status %d, and \"%s\" is not in:\n%s", p.status, part, p.out);
    program_release(&p);
}

/* Each rank has left a trace that can be read, with what it had committed. */
static void traces_are_valid(const char *name)
{
    for (int rank = 0; rank < RANKS; rank++)
        succeeds(program_run("sql", trace_of(name, rank), "select count(*) from event", NULL));
}

/* Rank 2 is killed when all have events in their files; the others end, and all four files can be read. */
static void a_killed_rank_ends_the_others(void **state)
{
    (void)state;
    need_mpi();
    program_file("net.py", NET);
    fails(
        mpirun("has_events() { $V sql $F/killed.rank$1.db \"select count(*) > 0 from event\""
               " 2>/dev/null | grep -q 1; }; "
               "if [ $OMPI_COMM_WORLD_RANK = 2 ]; then (for r in 0 1 2 3; do "
               "  while kill -0 $$ && ! has_events $r; do sleep 0.2; done; done; kill -9 $$) & fi; "
               "exec $V record $F/net.py --device cpu --batch 2 --steps 1000000 --shard fsdp -o "
               "$F/killed.db"),
        "signal 9");
    traces_are_valid("killed");
}

/* Rank 1 cannot write more than some bytes, as on a full disk. */
static void a_full_disk_of_one_rank_ends_the_others(void **state)
{
    (void)state;
    need_mpi();
    program_file("net.py", NET);
    fails(mpirun("if [ $OMPI_COMM_WORLD_RANK = 1 ]; then ulimit -f 400; fi; "
                 "exec $V record $F/net.py --device cpu --batch 2 --steps 1000000 --shard fsdp -o "
                 "$F/full.db"),
          "rank 1: ");
    traces_are_valid("full");
}

/* Rank 3 is not there: its program ends before it meets the others, and no trace is begun. */
static void a_missing_peer_ends_the_others(void **state)
{
    (void)state;
    need_mpi();
    program_file("net.py", NET);
    fails(mpirun("if [ $OMPI_COMM_WORLD_RANK = 3 ]; then exit 7; fi; "
                 "exec $V record $F/net.py --device cpu --batch 2 --shard fsdp -o $F/missing.db"),
          "non-zero exit code");
    assert_int_equal(program_count("missing*"), 0);
}

static void what_the_processes_share_must_be_said(void **state)
{
    (void)state;
    need_mpi();
    program_file("net.py", NET);
    fails(mpirun("exec $V record $F/net.py --device cpu -o $F/x.db"), "--shard fsdp, zero1 or ddp");
    fails(mpirun("exec $V record $F/net.py --device cpu --shard fsdp --world 8 -o $F/x.db"),
          "leave out --world 8");
    assert_int_equal(program_count("x.*"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fully_sharded_ranks_train_as_one_process_does),
        cmocka_unit_test(replicated_ranks_train_as_one_process_does),
        cmocka_unit_test(ranks_with_a_part_of_the_optimizer_train_as_one_process_does),
        cmocka_unit_test(ranks_in_half_precision_train_as_one_process_does),
        cmocka_unit_test(a_killed_rank_ends_the_others),
        cmocka_unit_test(a_full_disk_of_one_rank_ends_the_others),
        cmocka_unit_test(a_missing_peer_ends_the_others),
        cmocka_unit_test(what_the_processes_share_must_be_said),
    };

    return cmocka_run_group_tests(tests, NULL, cleanup);
}
