/*
 * tests/gpu/check_steps.c - the time of a training step on the device, unrecorded and recorded.
 *
 * Unrecorded and recorded runs alternate. Each step ends with a synchronization of the device; the first steps of a run
 * are ignored. tests/gpu/time_torch.py measures the same under PyTorch, and tests/gpu/times.py computes the ratios.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lang/run/run.h"
#include "tests/facts/facts.h"
#include "tests/gpu/check.h"
#include "tracer/recorder.h"

#define WARM 4
#define STEPS 12 /* the warm ones among them */
#define ROUNDS 3
#define TRACE "/tmp/vramscope-check-XXXXXX"

/*
 * A net as it is, or with a toggle; rounds: runs unrecorded, and as many recorded. What matters most comes first, for
 * time may end.
 */
struct timed {
    const char *net;
    const char *toggles;
    int rounds;
};
static const struct timed CASES[] = {{"sample_nets/resnet50.py", NULL, ROUNDS},
                                     {"sample_nets/gpt2_small.py", NULL, ROUNDS},
                                     {"sample_nets/resnet50.py", "amp=fp16", 2},
                                     {"sample_nets/gpt2_small.py", "amp=bf16", 2}};
static const struct timed FEW_CASES[] = {{"sample_nets/lenet.py", NULL, 1},
                                         {"sample_nets/lenet.py", "amp=bf16", 1}};

struct watch {
    struct check *c;
    struct trc_recorder *rec; /* NULL: unrecorded */
    int64_t step;
    double last;
    double *took; /* STEPS of them */
};

/* Called at the end of each phase. A step ends with its last phase. */
static bool on_progress(void *user, const struct lang_progress *p)
{
    struct watch *w = user;
    struct vs_error err = VS_ERROR_INIT;
    double now;

    if (p->phase != VS_PHASE_SETUP && p->phase != VS_PHASE_ZERO_GRAD)
        return true;
    (void)!w->c->device.wait(&err); /* the run reports a failure */
    now = check_clock();
    if (p->phase == VS_PHASE_ZERO_GRAD && p->step < STEPS)
        w->took[p->step] = now - w->last;
    w->last = now;
    return true;
}

static void quiet(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
}

/* Does one run and fills `took`. A failure is described in `why`. */
static uint64_t run_once(struct check *c, const struct facts_net *net, const char *with,
                         bool recorded, double *took, char *why, size_t size)
{
    struct watch w = {.c = c, .took = took};
    struct trc_recorder_options options = {.force = true};
    struct vs_toggles toggles = {{NULL}};
    struct vs_error err = VS_ERROR_INIT;
    struct vs_error close_err = VS_ERROR_INIT;
    struct lang_result result = {0};
    struct lang_settings settings = {.file_name = net->path,
                                     .text = net->text,
                                     .len = strlen(net->text),
                                     .device = &c->device,
                                     .toggles = &toggles,
                                     .user = &w,
                                     .progress = on_progress,
                                     .print = quiet};
    char path[] = TRACE;
    char set[64];
    uint64_t events;
    int file = mkstemp(path);

    if (file >= 0)
        close(file);
    snprintf(set, sizeof(set), "steps=%d %s", STEPS, with ? with : "");
    facts_toggles(set, &toggles);
    if (recorded && trc_recorder_open(path, &options, &w.rec, &err))
        snprintf(why, size, "%.300s", err.text);
    if (w.rec)
        settings.observer = trc_recorder_observer(w.rec);
    if (!*why && lang_run(&settings, &result, &err))
        snprintf(why, size, "%.300s", err.text);
    if (w.rec && trc_recorder_close(w.rec, true, &close_err) && !*why)
        snprintf(why, size, "%.300s", close_err.text);
    unlink(path);
    events = result.events;
    lang_result_release(&result);
    vs_toggles_release(&toggles);
    return events;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_size);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void check_case(struct check *c, const struct timed *timed, const char *name)
{
    double kept[2][ROUNDS * (STEPS - WARM)];
    struct facts_net net = facts_net_read(timed->net);
    struct vs_text text = {NULL, 0, 0};
    struct vs_json json;
    uint64_t events = 0;
    char why[400] = "";
    size_t count = (size_t)timed->rounds * (STEPS - WARM);

    for (int r = 0; r < 2 * timed->rounds && !*why; r++) {
        double took[STEPS] = {0};

        events = run_once(c, &net, timed->toggles, r % 2 != 0, took, why, sizeof(why));
        memcpy(&kept[r % 2][r / 2 * (STEPS - WARM)], took + WARM,
               sizeof(took) - sizeof(double) * WARM);
    }
    check_begin(&json, &text, name);
    if (!*why) {
        double off = median(kept[0], count);
        double on = median(kept[1], count);

        vs_json_put_double(&json, "step_seconds", off);
        vs_json_put_double(&json, "step_seconds_recorded", on);
        vs_json_put_double(&json, "recording", on / off - 1);
        vs_json_put_uint(&json, "events", events);
        vs_json_put_uint(&json, "steps_timed", count);
        printf("%-52s %.3f ms a step, recorded %.3f ms (%+.2f %%)\n", name, 1e3 * off, 1e3 * on,
               100 * (on / off - 1));
    }
    check_end(c, &json, &text, name, why);
    facts_net_release(&net);
}

void check_steps(struct check *c)
{
    const struct timed *cases = c->is_few ? FEW_CASES : CASES;
    size_t count =
        c->is_few ? sizeof(FEW_CASES) / sizeof(FEW_CASES[0]) : sizeof(CASES) / sizeof(CASES[0]);

    for (size_t i = 0; i < count; i++) {
        char name[128];

        snprintf(name, sizeof(name), "%s%s%s", cases[i].net, cases[i].toggles ? " " : "",
                 cases[i].toggles ? cases[i].toggles : "");
        if (check_wants(c, name))
            check_case(c, &cases[i], name);
    }
}
