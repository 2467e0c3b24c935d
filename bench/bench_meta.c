/*
 * bench/bench_meta.c - cost of a run on `meta`: one step, loading the net, and a complete what-if run.
 *
 * For:            `make bench`; the result of a changed toggle should be known before the next frame is drawn.
 * Must not know:  internals.
 * Invariant:      the observer is a trace in memory, as in a what-if run. Every figure is the median of all steps or
 *                 runs, in CPU time of the only thread. Peers: of an event a pair of malloc and free (128 bytes,
 *                 zeroed), measured alternately with the runs; of a step and of loading PyTorch on its device meta
 *                 (bench/meta_peer.py), where $VRAMSCOPE_PYTHON, or else python3, has it.
 *
 * Run it in the root of the repository, which contains sample_nets/.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "bench/rows.h"
#include "engine/core/observer.h"
#include "lang/run/library.h"
#include "lang/run/run.h"
#include "replay/report/summary.h"
#include "replay/trace/trace.h"
#include "whatif/whatif.h"

#define ROUNDS 5
#define STEPS 9 /* of a round; the first is not counted: it makes the optimizer's state */
#define PAIRS 20000

static double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void check(bool is_good, const char *what)
{
    if (!is_good) {
        fprintf(stderr, "bench_meta: %s\n", what);
        exit(1);
    }
}

static void ok(enum vs_status st, const struct vs_error *err)
{
    check(st == VS_OK, err->text);
}

/* ---- medians ---- */

struct figures {
    double *of;
    size_t count, cap;
};

static void figure_add(struct figures *f, double value)
{
    f->of = vs_grow(f->of, f->count, &f->cap, sizeof(*f->of));
    f->of[f->count++] = value;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(struct figures *f)
{
    qsort(f->of, f->count, sizeof(*f->of), by_value);
    return f->of[f->count / 2];
}

/* ---- nets ---- */

struct net {
    const char *title;
    const char *file;
    const char *batch; /* NULL: the file's */
    const char
        *swaps[6]; /* pairs of lines: what the file says, what it is to say; NULL ends them */
};

static const struct net NETS[] = {
    {"resnet50, batch 32", "sample_nets/resnet50.py", "32", {NULL}},
    {"resnet152, batch 32", "sample_nets/resnet152.py", "32", {NULL}},
    {"gpt2_small, batch 4", "sample_nets/gpt2_small.py", NULL, {NULL}},
    {"GPT-2 XL (48 layers), batch 4",
     "sample_nets/gpt2_small.py",
     NULL,
     {"WIDTH = 768\n", "WIDTH = 1600\n", "HEADS = 12\n", "HEADS = 25\n", "LAYERS = 12\n",
      "LAYERS = 48\n"}},
};

static void swap_line(struct vs_text *text, const char *from, const char *to)
{
    const char *at = strstr(vs_text_get(text), from);
    struct vs_text out = {NULL, 0, 0};

    check(at != NULL, "a net file has changed");
    vs_text_add_n(&out, vs_text_get(text), (size_t)(at - vs_text_get(text)));
    vs_text_add(&out, to);
    vs_text_add(&out, at + strlen(from));
    vs_text_release(text);
    *text = out;
}

/* The caller's. */
static struct vs_text net_text(const struct net *net)
{
    struct vs_text text = {NULL, 0, 0};
    FILE *file = fopen(net->file, "r");
    char part[4096];
    size_t len;

    check(file != NULL, "cannot read sample_nets/: run it in the root of the repository");
    while ((len = fread(part, 1, sizeof(part), file)) > 0)
        vs_text_add_n(&text, part, len);
    fclose(file);
    for (size_t i = 0; i < sizeof(net->swaps) / sizeof(net->swaps[0]) && net->swaps[i]; i += 2)
        swap_line(&text, net->swaps[i], net->swaps[i + 1]);
    return text;
}

/* ---- a run, step by step ---- */

static void on_event(void *user, const struct vs_event *event)
{
    rpl_trace_add_event(user, event);
}

static uint32_t on_string(void *user, const char *text)
{
    return rpl_trace_add_string(user, text);
}

static uint32_t on_location(void *user, const struct vs_location *location)
{
    return rpl_trace_add_location(user, location);
}

static void on_tensor(void *user, const struct vs_tensor_desc *desc)
{
    rpl_trace_add_tensor(user, desc);
}

struct watch {
    struct rpl_trace *trace;
    struct figures *load;
    struct figures *step;
    double last;
    uint64_t events_before;
    uint64_t events; /* of the last step */
};

static bool on_progress(void *user, const struct lang_progress *progress)
{
    struct watch *w = user;
    double now = cpu_ms();
    uint64_t events = rpl_trace_event_count(w->trace);

    if (progress->phase == VS_PHASE_SETUP)
        figure_add(w->load, now - w->last);
    else if (progress->phase != VS_PHASE_ZERO_GRAD)
        return true;
    if (progress->step > 0)
        figure_add(w->step, now - w->last);
    w->events = events - w->events_before;
    w->events_before = events;
    w->last = cpu_ms();
    return true;
}

static void print_nothing(void *user, const char *text, size_t len)
{
    (void)user, (void)text, (void)len;
}

static void run_steps(const struct net *net, const struct vs_text *text,
                      const struct lang_library *library, struct watch *w)
{
    struct eng_observer observer = {w->trace, on_event, on_string, on_location, on_tensor};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_toggles toggles = {{NULL}};
    struct lang_result result;
    struct lang_settings settings = {.file_name = net->file,
                                     .text = vs_text_get(text),
                                     .len = text->len,
                                     .observer = &observer,
                                     .library = library,
                                     .toggles = &toggles,
                                     .user = w,
                                     .progress = on_progress,
                                     .print = print_nothing};
    char steps[16];

    memset(&result, 0, sizeof(result));
    snprintf(steps, sizeof(steps), "%d", STEPS);
    ok(vs_toggles_set_named(&toggles, "steps", steps, &err), &err);
    if (net->batch)
        ok(vs_toggles_set_named(&toggles, "batch", net->batch, &err), &err);
    rpl_trace_clear(w->trace);
    w->events_before = 0;
    w->last = cpu_ms();
    ok(lang_run(&settings, &result, &err), &err);
    lang_result_release(&result);
    vs_toggles_release(&toggles);
}

/* ---- a whole what-if: from the toggle to the new peak ---- */

static void whatif(struct rpl_trace *base, struct rpl_trace *out, struct figures *run,
                   struct figures *sum)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rpl_summary summary;
    double start = cpu_ms();

    memset(&summary, 0, sizeof(summary));
    ok(wif_run(base, NULL, out, &err), &err);
    figure_add(run, cpu_ms() - start);
    start = cpu_ms();
    ok(rpl_summary_fill(&summary, out, &err), &err);
    figure_add(sum, cpu_ms() - start);
    rpl_summary_release(&summary);
}

/* ---- the peer ---- */

/* ns of one pair, in chunks that are alive together as the tensors of a layer are. */
static double pair_ns(void)
{
    void *alive[64] = {NULL};
    double start = cpu_ms();

    for (int i = 0; i < PAIRS; i++) {
        free(alive[i % 64]);
        alive[i % 64] = calloc(1, 128);
        check(alive[i % 64] != NULL, "no memory");
    }
    for (int i = 0; i < 64; i++)
        free(alive[i]);
    return (cpu_ms() - start) * 1e6 / PAIRS;
}

/*
 * What PyTorch takes for a step of the net, and before the first, on its device meta. False: there is no PyTorch in
 * $VRAMSCOPE_PYTHON (default python3).
 */
static bool torch_ms(const struct net *net, const struct vs_text *text, double *step, double *load)
{
    const char *python = getenv("VRAMSCOPE_PYTHON");
    char path[] = "/tmp/vramscope-bench-XXXXXX.py";
    char command[512];
    int fd = mkstemps(path, 3);
    FILE *answer;
    bool is_there;

    check(fd >= 0 && write(fd, vs_text_get(text), text->len) == (ssize_t)text->len, path);
    close(fd);
    snprintf(command, sizeof(command), "'%s' bench/meta_peer.py --ms %s %s 2>/dev/null",
             python ? python : "python3", path, net->batch ? net->batch : "4");
    answer = popen(command, "r");
    is_there = answer && fscanf(answer, "%lf %lf", step, load) == 2;
    if (answer)
        pclose(answer);
    unlink(path);
    return is_there;
}

/* The rows of the page. */
static void rows_put(const struct net *net, const struct vs_text *text, double ns, double pair,
                     struct figures *step, struct figures *load)
{
    static const char BENCH[] = "bench_meta";
    char a[BENCH_TEXT_MAX], what[80];
    double theirs = 0;
    double before = 0;

    snprintf(what, sizeof(what), "an event of %s", net->title);
    bench_row(BENCH, what, "%.0f ns\t%.0f ns: malloc, free", ns, pair);
    if (!torch_ms(net, text, &theirs, &before))
        return;
    snprintf(what, sizeof(what), "step of %s", net->title);
    bench_row(BENCH, what, "%.1f ms\t%s ms", median(step), bench_number(theirs, a));
    snprintf(what, sizeof(what), "load of %s", net->title);
    bench_row(BENCH, what, "%.1f ms\t%s ms", median(load), bench_number(before, a));
}

static void net_bench(const struct net *net, const struct lang_library *library)
{
    struct vs_text text = net_text(net);
    struct rpl_trace *base = rpl_trace_new();
    struct rpl_trace *out = rpl_trace_new();
    struct figures load = {0}, step = {0}, pair = {0}, run = {0}, sum = {0};
    struct watch w = {.trace = out, .load = &load, .step = &step};
    double ns;

    rpl_trace_set_source(base, net->file, vs_text_get(&text));
    if (net->batch)
        rpl_trace_set_toggle(base, "batch", net->batch, false);
    for (int i = 0; i < ROUNDS; i++) {
        figure_add(&pair, pair_ns());
        run_steps(net, &text, library, &w);
        whatif(base, out, &run, &sum);
    }
    ns = median(&step) * 1e6 / (double)w.events;
    printf("%-30s %7.2f %9" PRIu64 " %7.1f %7.2f %8.2f %8.2f %8.2f\n", net->title, median(&step),
           w.events, ns, ns / median(&pair), median(&load), median(&run), median(&sum));
    rows_put(net, &text, ns, median(&pair), &step, &load);
    free(load.of), free(step.of), free(pair.of), free(run.of), free(sum.of);
    rpl_trace_free(base);
    rpl_trace_free(out);
    vs_text_release(&text);
}

/* The library of the language, parsed several times; the last one is the caller's. */
static struct lang_library *library_bench(void)
{
    struct vs_error err = VS_ERROR_INIT;
    struct lang_library *library = NULL;
    struct figures parse = {0};

    for (int i = 0; i < ROUNDS; i++) {
        double start = cpu_ms();

        lang_library_free(library);
        ok(lang_library_new(&library, &err), &err);
        figure_add(&parse, cpu_ms() - start);
    }
    printf("the language's library, parsed once for all runs on a trace: %.2f ms\n",
           median(&parse));
    free(parse.of);
    return library;
}

int main(int argc, char **argv)
{
    struct lang_library *library;

    printf(
        "meta, observed by a trace in memory; CPU time; medians of %d runs of %d steps\n"
        "pairs: malloc and free of 128 zeroed bytes that take as long as an event\n"
        "load: up to the first step; what-if: load, three steps, the end; summary: the new peak\n",
        ROUNDS, STEPS - 1);
    library = library_bench();
    printf("%-30s %7s %9s %7s %7s %8s %8s %8s\n", "", "step", "events", "", "", "load", "what-if",
           "summary");
    printf("%-30s %7s %9s %7s %7s %8s %8s %8s\n", "", "ms", "a step", "ns each", "pairs", "ms",
           "ms", "ms");
    for (size_t i = 0; i < sizeof(NETS) / sizeof(NETS[0]); i++)
        if (argc < 2 || strstr(NETS[i].title, argv[1]))
            net_bench(&NETS[i], library);
    lang_library_free(library);
    return 0;
}
