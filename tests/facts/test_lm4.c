/*
 * tests/facts/test_lm4.c - a language model's memory as a real GPU recorded it, against ours: allocation by allocation.
 *
 * The lists of tests/golden/alloc were recorded by PyTorch 2.6 on CUDA from an empty allocator: model, optimizer state and three
 * steps. Left out are library workspaces and scratch of kernels (tests/golden/lm4/library.txt; none of a tensor's own). What is
 * compared: the kind of each event, the bytes asked for, and which allocation each free gives back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "tests/engine/alloc_lists.h"
#include "tests/facts/facts.h"

#define LIBRARY "tests/golden/lm4/library.txt"
#define NONE UINT64_MAX

/* number: of the allocation, from 0; a free has that of the allocation it gives back. */
struct step {
    bool is_alloc;
    uint64_t bytes;
    uint64_t number;
    uint64_t seq; /* ours: the event of the trace */
};

struct steps {
    struct step *items;
    size_t count, cap;
};

static void steps_add(struct steps *steps, struct step step)
{
    steps->items = vs_grow(steps->items, steps->count, &steps->cap, sizeof(*steps->items));
    steps->items[steps->count++] = step;
}

/* ---- the recording ---- */

struct library {
    uint64_t allocs;
    uint64_t events_left;
    uint64_t numbers[128];
    size_t count;
};

static struct library read_library(const char *name)
{
    FILE *file = fopen(LIBRARY, "r");
    struct library library = {0, 0, {0}, 0};
    char line[2048];
    bool found = false;

    assert_non_null(file);
    while (!found && fgets(line, sizeof(line), file)) {
        char *rest = NULL;
        char *word = strtok_r(line, " \n", &rest);

        found = word && strcmp(word, name) == 0;
        if (!found)
            continue;
        library.allocs = strtoull(strtok_r(NULL, " \n", &rest), NULL, 10);
        library.events_left = strtoull(strtok_r(NULL, " \n", &rest), NULL, 10);
        while ((word = strtok_r(NULL, " \n", &rest)) != NULL) {
            assert_true(library.count < sizeof(library.numbers) / sizeof(library.numbers[0]));
            library.numbers[library.count++] = strtoull(word, NULL, 10);
        }
    }
    fclose(file);
    assert_true(found);
    return library;
}

static bool is_library(const struct library *library, uint64_t alloc)
{
    for (size_t i = 0; i < library->count; i++)
        if (library->numbers[i] == alloc)
            return true;
    return false;
}

struct live {
    uint64_t address;
    uint64_t number; /* NONE: a library's */
};

/* The allocation of `address` that is alive, taken out. */
static struct live take_live(struct live *live, size_t *count, uint64_t address)
{
    for (size_t i = *count; i-- > 0;)
        if (live[i].address == address) {
            struct live found = live[i];

            live[i] = live[--*count];
            return found;
        }
    fail_msg("the recording frees what it never allocated");
    return (struct live){0, 0};
}

static struct steps read_recording(const char *name)
{
    struct alloc_list list = {.events = NULL};
    struct library library = read_library(name);
    struct vs_error err = VS_ERROR_INIT;
    struct steps steps = {NULL, 0, 0};
    struct live *live = NULL;
    size_t live_count = 0;
    size_t live_cap = 0;
    uint64_t allocs = 0;
    uint64_t tensors = 0;
    char path[128];

    snprintf(path, sizeof(path), ALLOC_LISTS_DIR "/%s.0.txt", name);
    if (alloc_list_read(path, &list, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < list.event_count; i++) {
        const struct eng_record_event *event = &list.events[i];

        if (event->kind == ENG_ALLOC_EV_ALLOC) {
            uint64_t number = is_library(&library, allocs++) ? NONE : tensors++;

            live = vs_grow(live, live_count, &live_cap, sizeof(*live));
            live[live_count++] = (struct live){event->address, number};
            if (number != NONE)
                steps_add(&steps, (struct step){true, event->bytes, number, 0});
        } else if (event->kind == ENG_ALLOC_EV_FREE_REQUESTED) {
            struct live freed = take_live(live, &live_count, event->address);

            if (freed.number != NONE)
                steps_add(&steps, (struct step){false, event->bytes, freed.number, 0});
        }
    }
    assert_int_equal(allocs, library.allocs);
    assert_int_equal(steps.count, library.events_left);
    vs_free(live);
    alloc_list_release(&list);
    return steps;
}

/* ---- ours ---- */

static struct steps read_trace(struct rpl_trace *trace)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct vs_error err = VS_ERROR_INIT;
    struct steps steps = {NULL, 0, 0};
    const struct vs_event *event;

    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while ((event = rpl_scan_next(scan, &err)) != NULL)
        if (event->kind == VS_EV_ALLOC || event->kind == VS_EV_FREE)
            steps_add(&steps,
                      (struct step){event->kind == VS_EV_ALLOC, event->b, event->a - 1, scan->seq});
    assert_int_equal(scan->status, VS_OK);
    vs_free(scan);
    return steps;
}

static bool is_same(const struct step *a, const struct step *b)
{
    return a->is_alloc == b->is_alloc && a->bytes == b->bytes && a->number == b->number;
}

static void print_around(struct rpl_trace *trace, const struct steps *real,
                         const struct steps *ours, size_t at)
{
    for (size_t i = at > 4 ? at - 4 : 0; i < at + 8; i++) {
        char text[FACTS_EVENT_MAX] = "-";

        if (i < ours->count) {
            struct rpl_scan *scan = vs_alloc(sizeof(*scan));
            struct vs_error err = VS_ERROR_INIT;

            rpl_scan_init(scan, trace, ours->items[i].seq, ours->items[i].seq);
            facts_event_text(trace, ours->items[i].seq, rpl_scan_next(scan, &err), text);
            vs_free(scan);
        }
        print_error("%zu: recorded %s %" PRIu64 " of %" PRIu64 ", ours %s\n", i,
                    i < real->count ? real->items[i].is_alloc ? "alloc" : "free" : "-",
                    i < real->count ? real->items[i].bytes : 0,
                    i < real->count ? real->items[i].number : 0, text);
    }
}

/*
 * Equal as far as the recording goes. It stops with its program; ours goes on to let go of what is left, so after the end
 * there may be frees only.
 */
static void assert_matches(const char *recording, const char *net_file, uint64_t tokens,
                           size_t events)
{
    struct steps real = read_recording(recording);
    struct facts_net net = facts_net_read(net_file);
    struct facts_run run;
    struct steps ours;
    size_t same = 0;
    size_t more = 0;

    facts_net_set(&net, "LENGTH", tokens);
    run = facts_run_net(&net, "", false, NULL);
    ours = read_trace(run.trace);
    while (same < real.count && same < ours.count && is_same(&real.items[same], &ours.items[same]))
        same++;
    for (size_t i = real.count; i < ours.count; i++)
        more += ours.items[i].is_alloc;
    print_message("%s: matched %zu of %zu events\n", recording, same, real.count);
    if (same < real.count)
        print_around(run.trace, &real, &ours, same);
    assert_int_equal(real.count, events);
    assert_int_equal(same, real.count);
    assert_int_equal(more, 0);
    vs_free(real.items);
    vs_free(ours.items);
    facts_run_release(&run);
    facts_net_release(&net);
}

static void training_with_200_tokens_is_as_recorded(void **state)
{
    (void)state;
    assert_matches("lm4_train_ctx200", "sample_nets/lm4.py", 200, 7536);
}

static void training_with_100_tokens_is_as_recorded(void **state)
{
    (void)state;
    assert_matches("lm4_train_ctx100", "sample_nets/lm4.py", 100, 7536);
}

static void forward_with_100_tokens_is_as_recorded(void **state)
{
    (void)state;
    assert_matches("lm4_forward_ctx100", "sample_nets/lm4_forward.py", 100, 1528);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_with_200_tokens_is_as_recorded),
        cmocka_unit_test(training_with_100_tokens_is_as_recorded),
        cmocka_unit_test(forward_with_100_tokens_is_as_recorded),
    };

    return cmocka_run_group_tests_name("facts/lm4", tests, NULL, NULL);
}
