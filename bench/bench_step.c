/*
 * bench/bench_step.c - time of a training step on the CPU device, compared with PyTorch on the CPU in the same run.
 *
 * For:            `make bench`, with one thread; the limit for a step in docs/guide/performance.md.
 *                 `bench_step WORD` runs the cases NAME/THREADS that have the word in them.
 *                 Peer: bench/step_peer.py, the same net file and loop under PyTorch with the same number of threads.
 *                 $VRAMSCOPE_PYTHON (default python3) is a Python that has PyTorch; without it the ratios are omitted.
 * Must not know:  kernels.
 * Invariant:      steps of vramscope and of the peer alternate; while one computes the other waits. The first step of
 *                 each is omitted, and figures are medians of the others.
 *
 * `clock` is wall time, `cpu` the processor time of all threads. With one thread and other programs running, cpu is
 * more reliable; with several threads, PyTorch's cpu includes its busy waiting. Run it in the root of the repository.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/toggle.h"
#include "bench/rows.h"
#include "engine/device/kernels.h"
#include "lang/run/run.h"

#define STEPS 4 /* the first is left out */
#define PHASES (VS_PHASE_COUNT - 1)
#define TEXT_MAX_BYTES (1 << 16)

/*
 * A net file, a text in it to replace, and its batch. peer_flushes: the peer takes subnormal numbers for zeros, as
 * torch.set_flush_denormal does it (ours always does in products).
 */
struct net {
    const char *name;
    const char *file;
    const char *from;
    const char *to;
    const char *batch;
    bool peer_flushes;
    const char *title; /* in docs/guide/performance.md */
};

static const struct net NETS[] = {
    {"resnet18", "sample_nets/resnet18.py", NULL, NULL, "8", false, "resnet18, batch 8, 224×224"},
    {"gpt2_small", "sample_nets/gpt2_small.py", "TOKENS = 256", "TOKENS = 128", "1", false,
     "gpt2_small, batch 1, 128 tokens"},
    {"gpt2_small_flush", "sample_nets/gpt2_small.py", "TOKENS = 256", "TOKENS = 128", "1", true,
     "gpt2_small, batch 1, 128 tokens, PyTorch flushing"},
};
#define NET_COUNT (sizeof(NETS) / sizeof(NETS[0]))

static const int THREADS[] = {1, 2};

struct took {
    double wall[PHASES + 1][STEPS]; /* by phase after setup; the last is the whole step */
    double cpu[PHASES + 1][STEPS];
};

struct peer {
    pid_t pid;
    FILE *request;
    FILE *answer;
    char version[256];
};

struct race {
    struct peer *peer; /* NULL: none */
    struct took ours;
    struct took theirs;
    double wall; /* clocks at the start of the phase */
    double cpu;
    int step; /* the one that runs; -1 in setup */
};

static double clock_of(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- the peer ---- */

static void peer_exec(const char *path, const struct net *net, int threads)
{
    const char *named = getenv("VRAMSCOPE_PYTHON");
    const char *python = named ? named : "python3";
    char count[16];
    char steps[16];

    snprintf(count, sizeof(count), "%d", threads);
    snprintf(steps, sizeof(steps), "%d", STEPS);
    setenv("OMP_NUM_THREADS", count, 1);
    setenv("MKL_NUM_THREADS", count, 1);
    execlp(python, python, "bench/step_peer.py", path, count, steps,
           net->peer_flushes ? "flush" : "keep", "--batch", net->batch, (char *)NULL);
    printf("none no python3\n");
    fflush(stdout);
    _exit(1);
}

/* Starts it and waits until its model is made. False where there is no PyTorch; `version` then says why. */
static bool peer_start(struct peer *peer, const char *path, const struct net *net, int threads)
{
    int request[2];
    int answer[2];
    char line[512];
    bool ready;

    if (pipe(request) != 0 || pipe(answer) != 0)
        die("pipe");
    peer->pid = fork();
    if (peer->pid < 0)
        die("fork");
    if (peer->pid == 0) {
        dup2(request[0], STDIN_FILENO);
        dup2(answer[1], STDOUT_FILENO);
        close(request[1]);
        close(answer[0]);
        peer_exec(path, net, threads);
    }
    close(request[0]);
    close(answer[1]);
    peer->request = fdopen(request[1], "w");
    peer->answer = fdopen(answer[0], "r");
    if (!peer->request || !peer->answer)
        die("fdopen");
    if (!fgets(line, sizeof(line), peer->answer))
        strcpy(line, "none it ended early\n");
    line[strcspn(line, "\n")] = '\0';
    ready = strncmp(line, "ready ", 6) == 0;
    snprintf(peer->version, sizeof(peer->version), "%.200s",
             ready || strncmp(line, "none ", 5) == 0 ? strchr(line, ' ') + 1 : line);
    return ready;
}

static void peer_step(struct peer *peer, struct took *took, int step)
{
    double loss;

    fputs("step\n", peer->request);
    fflush(peer->request);
    took->wall[PHASES][step] = took->cpu[PHASES][step] = 0.0;
    if (fscanf(peer->answer, "%lf", &loss) != 1)
        die("the peer gave no answer");
    for (int p = 0; p < PHASES; p++) {
        if (fscanf(peer->answer, "%lf %lf", &took->wall[p][step], &took->cpu[p][step]) != 2)
            die("the peer gave half an answer");
        took->wall[PHASES][step] += took->wall[p][step];
        took->cpu[PHASES][step] += took->cpu[p][step];
    }
    if (!isfinite(loss))
        fprintf(stderr, "the peer's loss is %g\n", loss);
}

static void peer_end(struct peer *peer)
{
    fclose(peer->request);
    fclose(peer->answer);
    waitpid(peer->pid, NULL, 0);
}

/* ---- ours ---- */

static void clocks_start(struct race *race)
{
    race->wall = clock_of(CLOCK_MONOTONIC);
    race->cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* A phase is over; after the last of a step the peer has its turn. */
static bool on_progress(void *user, const struct lang_progress *progress)
{
    struct race *race = user;
    double wall = clock_of(CLOCK_MONOTONIC) - race->wall;
    double cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID) - race->cpu;
    int phase = (int)progress->phase - (int)VS_PHASE_DATA;

    if (phase >= 0) {
        race->ours.wall[phase][race->step] = wall;
        race->ours.cpu[phase][race->step] = cpu;
        race->ours.wall[PHASES][race->step] += wall;
        race->ours.cpu[PHASES][race->step] += cpu;
    }
    if (progress->phase == VS_PHASE_SETUP || progress->phase == VS_PHASE_ZERO_GRAD) {
        if (race->step >= 0 && race->peer)
            peer_step(race->peer, &race->theirs, race->step);
        race->step++;
    }
    clocks_start(race);
    return true;
}

/* The net file as text, with its replacement made; NULL where that is not in it. */
static char *net_text(const struct net *net)
{
    char *text = vs_alloc(TEXT_MAX_BYTES);
    char *out = vs_alloc(2 * TEXT_MAX_BYTES);
    FILE *f = fopen(net->file, "r");
    const char *at;

    if (!f)
        die(net->file);
    text[fread(text, 1, TEXT_MAX_BYTES - 1, f)] = '\0';
    fclose(f);
    at = net->from ? strstr(text, net->from) : text;
    if (!at) {
        fprintf(stderr, "%s has no `%s`\n", net->file, net->from);
        exit(1);
    }
    if (net->from)
        snprintf(out, 2 * TEXT_MAX_BYTES, "%.*s%s%s", (int)(at - text), text, net->to,
                 at + strlen(net->from));
    else
        strcpy(out, text);
    vs_free(text);
    return out;
}

static void run_ours(struct race *race, const struct net *net, const char *text)
{
    struct vs_toggles toggles = {{NULL}};
    struct lang_result result = {0};
    struct vs_error err = VS_ERROR_INIT;
    char steps[16];
    struct lang_settings settings = {.file_name = net->file,
                                     .text = text,
                                     .len = strlen(text),
                                     .kernels = eng_kernels_cpu(),
                                     .toggles = &toggles,
                                     .user = race,
                                     .progress = on_progress};

    snprintf(steps, sizeof(steps), "%d", STEPS);
    if (vs_toggles_set(&toggles, VS_TOGGLE_STEPS, steps, &err) ||
        vs_toggles_set(&toggles, VS_TOGGLE_BATCH, net->batch, &err) ||
        lang_run(&settings, &result, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    lang_result_release(&result);
    vs_toggles_release(&toggles);
}

/* ---- figures ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(const double steps[STEPS])
{
    double sorted[STEPS - 1];
    int n = STEPS - 1;

    memcpy(sorted, steps + 1, sizeof(sorted));
    qsort(sorted, (size_t)n, sizeof(sorted[0]), by_size);
    return 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
}

static void line(const char *name, const struct race *race, int p)
{
    double wall = median(race->ours.wall[p]);
    double cpu = median(race->ours.cpu[p]);

    printf("  %-12s %9.1f %9.1f", name, wall * 1e3, cpu * 1e3);
    if (race->peer) {
        double peer_wall = median(race->theirs.wall[p]);
        double peer_cpu = median(race->theirs.cpu[p]);

        printf("   %9.1f %9.1f   %7.2f %7.2f", peer_wall * 1e3, peer_cpu * 1e3, wall / peer_wall,
               cpu / peer_cpu);
    }
    printf("\n");
}

/* With one thread, where there is a peer. */
static void row(const struct net *net, const struct race *race)
{
    double ours = median(race->ours.cpu[PHASES]) * 1e3;
    double theirs = median(race->theirs.cpu[PHASES]) * 1e3;
    char a[BENCH_TEXT_MAX], b[BENCH_TEXT_MAX];

    bench_row("bench_step", net->title, "%s ms (%.2f)\t%s ms", bench_number(ours, a), ours / theirs,
              bench_number(theirs, b));
}

static void run_case(const struct net *net, int threads)
{
    char path[] = "/tmp/vramscope-bench-XXXXXX.py";
    int fd = mkstemps(path, 3);
    char *text = net_text(net);
    char count[16];
    struct peer peer;
    struct race *race = vs_alloc(sizeof(*race));

    memset(race, 0, sizeof(*race));
    race->step = -1;
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        die(path);
    close(fd);
    race->peer = peer_start(&peer, path, net, threads) ? &peer : NULL;
    unlink(path);
    snprintf(count, sizeof(count), "%d", threads);
    setenv("VRAMSCOPE_THREADS", count, 1);
    run_ours(race, net, text);
    printf("%s, batch %s%s%s, %d thread%s; peer: %s%s%s\n", net->name, net->batch,
           net->to ? ", " : "", net->to ? net->to : "", threads, threads == 1 ? "" : "s",
           race->peer ? "PyTorch " : "none, ", peer.version,
           race->peer && net->peer_flushes ? ", subnormals flushed" : "");
    printf("  %-12s %9s %9s   %9s %9s   %7s %7s\n", "ms", "clock", "cpu", "its clock", "its cpu",
           "clock", "cpu");
    for (int p = 0; p < PHASES; p++)
        line(vs_phase_name((enum vs_phase)((int)VS_PHASE_DATA + p)), race, p);
    line("step", race, PHASES);
    if (race->peer && threads == 1)
        row(net, race);
    peer_end(&peer);
    vs_free(race);
    vs_free(text);
}

/* Each case in a process of its own: the number of threads is settled once. */
int main(int argc, char **argv)
{
    int status = 0;

    for (size_t i = 0; i < NET_COUNT; i++) {
        for (size_t t = 0; t < sizeof(THREADS) / sizeof(THREADS[0]); t++) {
            char name[64];
            pid_t pid;

            snprintf(name, sizeof(name), "%s/%d", NETS[i].name, THREADS[t]);
            if (argc > 1 ? !strstr(name, argv[1]) : THREADS[t] > 1)
                continue;
            fflush(stdout);
            pid = fork();
            if (pid < 0)
                die("fork");
            if (pid == 0) {
                run_case(&NETS[i], THREADS[t]);
                exit(0);
            }
            waitpid(pid, &status, 0);
            if (status != 0)
                return 1;
        }
    }
    return 0;
}
