/*
 * tests/golden_check/test_golden_grid.c - the grid of nets and toggles compared with PyTorch: memory at phase ends,
 * phase peaks, saved bytes, recomputed ops.
 */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/golden_check/golden.h"
#include "tests/page_count.h"

/* Of several parts of a step PyTorch's line has one: the end of the last, the highest peak. */
static bool phase_find(const struct lang_result *r, int64_t step, const char *name,
                       struct lang_run_phase *out)
{
    bool found = false;

    for (size_t i = 0; i < r->phase_count; i++) {
        const struct lang_run_phase *p = &r->phases[i];

        if (p->step != step || strcmp(vs_phase_name(p->phase), name) != 0)
            continue;
        if (found) {
            uint64_t allocated = out->allocated_peak, requested = out->requested_peak,
                     reserved = out->reserved_peak;

            *out = *p;
            out->allocated_peak = allocated > p->allocated_peak ? allocated : p->allocated_peak;
            out->requested_peak = requested > p->requested_peak ? requested : p->requested_peak;
            out->reserved_peak = reserved > p->reserved_peak ? reserved : p->reserved_peak;
        } else {
            *out = *p;
        }
        found = true;
    }
    return found;
}

static bool phases_are_equal(const struct lang_result *r, const struct json *phases, char *why,
                             size_t why_size)
{
    static const char *const NAMES[] = {"allocated_end",  "allocated_peak", "requested_end",
                                        "requested_peak", "reserved_end",   "reserved_peak"};

    for (const struct json *p = phases->first; p; p = p->next) {
        int64_t step = json_at(p, 0)->integer;
        const char *name = json_str(json_at(p, 1));
        struct lang_run_phase ours;
        uint64_t values[6];

        if (!phase_find(r, step, name, &ours)) {
            snprintf(why, why_size, "step %" PRId64 " %s: ours has no such phase", step, name);
            return false;
        }
        values[0] = ours.allocated_end;
        values[1] = ours.allocated_peak;
        values[2] = ours.requested_end;
        values[3] = ours.requested_peak;
        values[4] = ours.reserved_end;
        values[5] = ours.reserved_peak;
        for (size_t k = 0; k < 6; k++) {
            if (json_at(p, 2 + k) && values[k] != json_u64(json_at(p, 2 + k))) {
                snprintf(why, why_size,
                         "step %" PRId64 " %s %s: %" PRIu64 ", PyTorch %" PRIu64 " (%+" PRId64 ")",
                         step, name, NAMES[k], values[k], json_u64(json_at(p, 2 + k)),
                         (int64_t)(values[k] - json_u64(json_at(p, 2 + k))));
                return false;
            }
        }
    }
    return true;
}

static bool counts_are_equal(const struct lang_result *r, const struct json *line, char *why,
                             size_t why_size)
{
    const struct json *saved = json_get(line, "saved");
    const struct json *ops = json_get(line, "recomputed_ops");
    size_t i = 0;

    /* a net with a step of its own has no loss phase after which to look; PyTorch's figure is of another run */
    if (saved && r->saved_known &&
        (r->saved_bytes != json_u64(json_get(saved, "bytes")) ||
         r->saved_tensors != json_u64(json_get(saved, "tensors")) ||
         (json_get(saved, "bytes_all") &&
          r->saved_bytes_all != json_u64(json_get(saved, "bytes_all"))))) {
        snprintf(why, why_size,
                 "saved: %" PRIu64 " tensors, %" PRIu64 " bytes (%" PRIu64
                 " with all); PyTorch %" PRIu64 ", %" PRIu64 " (%" PRIu64 ")",
                 r->saved_tensors, r->saved_bytes, r->saved_bytes_all,
                 json_u64(json_get(saved, "tensors")), json_u64(json_get(saved, "bytes")),
                 json_u64(json_get(saved, "bytes_all")));
        return false;
    }
    for (const struct json *n = ops ? ops->first : NULL; n; n = n->next, i++) {
        if (i < r->step_count && r->steps[i].recomputed_ops != json_u64(n)) {
            snprintf(why, why_size, "recomputed ops of step %zu: %" PRIu64 ", PyTorch %" PRIu64, i,
                     r->steps[i].recomputed_ops, json_u64(n));
            return false;
        }
    }
    return true;
}

static bool cell_is_equal(const struct json *line, char *why, size_t why_size)
{
    const struct json *phases = json_get(line, "phases");
    struct golden_run run;
    bool equal;

    golden_run_net(json_str(json_get(line, "net")), json_get(line, "toggles"), 0, false, &run);
    if (!phases) {
        equal = run.status != VS_OK;
        snprintf(why, why_size, "PyTorch refuses it, ours runs");
    } else if (run.status) {
        equal = false;
        snprintf(why, why_size, "%.900s", run.error.text);
        for (char *p = why; *p; p++)
            *p = *p == '\n' ? '|' : *p;
    } else {
        equal = run.result.parameters == json_u64(json_get(line, "parameters"));
        if (!equal)
            snprintf(why, why_size, "%" PRIu64 " parameters, PyTorch has %" PRIu64,
                     run.result.parameters, json_u64(json_get(line, "parameters")));
        equal = equal && phases_are_equal(&run.result, phases, why, why_size) &&
                counts_are_equal(&run.result, line, why, why_size);
    }
    golden_run_release(&run);
    return equal;
}

static int is_jsonl(const struct dirent *entry)
{
    return strstr(entry->d_name, ".jsonl") != NULL;
}

static void every_combination_of_the_grid_is_equal(void **state)
{
    struct golden_sum sum = {0, 0};
    struct dirent **entries = NULL;
    int count = scandir("tests/golden/oracle/grid", &entries, is_jsonl, alphasort);
    bool all = true;

    (void)state;
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        char path[512];

        snprintf(path, sizeof(path), "tests/golden/oracle/grid/%s", entries[i]->d_name);
        all = golden_file(path, cell_is_equal, &sum) && all;
        free(entries[i]);
    }
    free(entries);
    assert_true(all);
    if (!getenv("GOLDEN_ONLY"))
        page_count_check("grid/*.jsonl", sum.equal, sum.total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_combination_of_the_grid_is_equal),
    };

    return cmocka_run_group_tests_name("golden_check/grid", tests, NULL, NULL);
}
