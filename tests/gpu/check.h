/*
 * tests/gpu/check.h - the program that compares a device with the CPU and meta: declarations that its parts share.
 *
 * For:            check_*.c, one file for each part; tests/gpu/run.sh runs them.
 * Must not know:  what a part compares.
 * Invariant:      every case that was started has one line, on the terminal and in the file of JSON lines; cases that
 *                 were not started in time are counted.
 */
#ifndef TESTS_GPU_CHECK_H
#define TESTS_GPU_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/json.h"
#include "tests/gpu/gpu.h"

/*
 * device   open
 * is_few   a handful of cases, for machines without a GPU
 * only     cases whose op or net has this in its name; NULL: all
 */
struct check {
    struct eng_device device;
    bool is_few;
    const char *only;
    FILE *file; /* NULL: none */
    double deadline;
    unsigned same, differ, late;
};

/* Is the case of this op or net selected, and is there time for it? Counts it as late if there is not. */
bool check_wants(struct check *c, const char *name);

/*
 * The JSON line of a case: begin, then members of the part's own, then end, which also prints the line on the terminal.
 * `why` is "" if the case is equal.
 */
void check_begin(struct vs_json *json, struct vs_text *text, const char *name);
void check_end(struct check *c, struct vs_json *json, struct vs_text *text, const char *name,
               const char *why);

/* Seconds of a clock that only grows. */
double check_clock(void);

/* The parts. */
void check_ops(struct check *c);
void check_nets(struct check *c);
void check_events(struct check *c);
void check_steps(struct check *c);

#endif
