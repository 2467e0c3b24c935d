/*
 * tests/golden_check/golden.h - runs the cells of golden files and reports how far our results equal them.
 *
 * For:            the test_golden_* programs.
 * Must not know:  how PyTorch was measured; see tests/oracle/README.md.
 * Invariant:      a cell that is listed in tests/golden/known.tsv must differ, one that is not must be equal: the
 *                 list only shrinks.
 */
#ifndef TESTS_GOLDEN_CHECK_GOLDEN_H
#define TESTS_GOLDEN_CHECK_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>

#include "lang/run/run.h"
#include "tests/golden_check/json.h"

/* One allocation or free of a run of ours. */
struct golden_event {
    bool is_alloc;
    uint8_t phase;
    uint32_t id; /* from 0 in order of allocation; of the block freed */
    uint64_t bytes;
    int64_t step;
    char op[40];
    uint32_t line;
};

struct golden_run {
    struct golden_event *events;
    size_t count, cap;
    struct lang_result result;
    enum vs_status status;
    struct vs_error error;
};

/* Run `net` (a path from the repository's root) with `toggles` (a JSON object of strings) on meta. */
void golden_run_net(const char *net, const struct json *toggles, int64_t steps, bool formula,
                    struct golden_run *out);
void golden_run_release(struct golden_run *run);

/*
 * Compare with a golden "events" list; bytes and order of both kinds, and which allocation each free is of. False:
 * `why` says where.
 */
bool golden_events_equal(const struct golden_run *run, const struct json *events,
                         bool sort_cast_frees, char *why, size_t why_size);

/* Compare the steps and phases of events that are equal. False: `why` says where. */
bool golden_phases_equal(const struct golden_run *run, const struct json *events, char *why,
                         size_t why_size);

/*
 * Calls `check` with every line of a golden file (.jsonl or .jsonl.gz, a path from the repository's root); it returns
 * whether our run is equal and says why not. Prints "PATH: N of M equal" and the differences, and holds the page to the
 * count (tests/page_count.h). False: a cell outside known.tsv differs, or one in it is equal.
 *
 * sum   NULL, or what to add the counts to instead, for a page that has one count of several files
 *
 * One of as many lines as tests/share.h says is taken. The environment variable GOLDEN_ONLY holds a substring of cells
 * to run (for work at one of them): then nothing is asserted.
 */
typedef bool golden_check_fn(const struct json *line, char *why, size_t why_size);
struct golden_sum {
    size_t equal;
    size_t total;
};
bool golden_file(const char *path, golden_check_fn *check, struct golden_sum *sum);

#endif
