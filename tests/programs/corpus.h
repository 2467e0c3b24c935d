/*
 * tests/programs/corpus.h - programs that use PyTorch, recorded over a simulated GPU.
 *
 * For:            the tests of this folder (PyTorch alone), frameworks/test_frameworks.c (what is built on it).
 * Must not know:  what a program does; it prints a line FIGURES for each rank (figures.py).
 */
#ifndef TESTS_PROGRAMS_CORPUS_H
#define TESTS_PROGRAMS_CORPUS_H

#include "tests/e2e/program.h"

/* The simulated GPU by default. */
#define CORPUS_GPU "a100-80"

/* The environment of all programs: a cache of the test's own, no setting of the user's. For cmocka's groups. */
int corpus_setup(void **state);
int corpus_cleanup(void **state);

/*
 * A Python whose torch is built for CUDA, found without importing it: $VRAMSCOPE_TORCH_PYTHON, or else python3. Skips
 * the test where there is none, and where one of `modules` is missing (blanks between; NULL: torch is enough).
 */
const char *corpus_python(const char *modules);

/*
 * Record a program of tests/programs as trace.db.
 *
 * command  the script below tests/programs without .py, and its arguments
 * ranks    so many processes by torchrun; 0: run directly
 *
 * Fails the test where it does not end well.
 */
struct program corpus_record(const char *command, int ranks, const char *gpu);

/* The same as one rank of `world` that runs alone, as alone.db. */
struct program corpus_record_alone(const char *command, int world, int rank, const char *gpu);

/* The report of a trace as JSON; heap memory. */
char *corpus_report(const char *trace);
/* The three peaks of the trace are those that the program printed as `rank`. */
void corpus_peaks_check(const struct program *p, const char *trace, int rank);

/* The first event of the allocator in which two traces differ, as a text; heap memory (vs_free). NULL: none. */
char *corpus_events_difference(const char *first, const char *second);
/* Two traces have the same events of the allocator, as corpus_check says; fails the test where they do not. */
void corpus_events_compare(const char *command, const char *first, const char *second);

/*
 * The rows of one column that `sql` gives of both traces are the same; fails the test where they are not. In both the
 * table `workspace` has the ids of the first trace's workspaces. Returns how many they are.
 */
int corpus_rows_compare(const char *command, const char *sql, const char *first,
                        const char *second);

/*
 * Record it twice, without and with `--observe`: the peaks of each rank's trace are those that PyTorch says, to the
 * byte, both recordings have the same events of the allocator in the same order (kinds, sizes, streams, addresses), and
 * every allocation was observed. Frees that follow one another may come in any order.
 */
void corpus_check(const char *command, int ranks);

/*
 * The same of a program that is run in another way.
 *
 * command, ranks  as above
 * modules         what it imports beside torch, or NULL
 * option, value   one more option of `record`, or NULL
 * traces          of how many processes there are traces; 0: of one, or of each of `ranks`
 * status          its exit status
 * is_partly       it does on purpose what is not observed
 * has_no_figures  it does not print its peaks, or they are not those of the trace: PyTorch counts the requested bytes
 *                 of blocks that another stream still uses, too
 */
struct corpus_case {
    const char *command;
    int ranks;
    const char *modules;
    const char *option, *value;
    int traces;
    int status;
    bool is_partly;
    bool has_no_figures;
};
void corpus_check_case(const struct corpus_case *row);

/*
 * Record `as_net NAME FILE AMP [checkpoint]` both ways, and compare the net file that it writes with the recording: all
 * events of the allocator, with bytes, addresses, segments and peaks. The peaks are PyTorch's, too. What else the
 * program's trace says is what that of the net file says: what autograd saves, categories, casts, gradients,
 * arithmetic.
 *
 * amp     NULL, "fp16" or "bf16"
 * blocks  paths of the blocks that as_net checkpoints, commas between; NULL: none
 * impl    how: "non-reentrant" or "reentrant"; NULL where there are none
 */
void corpus_net_check(const char *name, const char *amp, const char *blocks, const char *impl);

/* The same of a net file, which PyTorch trains for two steps (observed/sample.py). */
void corpus_sample_check(const char *net);

#endif
