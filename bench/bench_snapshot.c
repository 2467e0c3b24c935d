/*
 * bench/bench_snapshot.c - reading and importing PyTorch's memory snapshots, compared with CPython's pickle.load of the
 * same bytes.
 *
 * For:            `make bench`; `bench_snapshot FILE…` measures other snapshots (.gz: compressed and uncompressed);
 *                 `bench_snapshot --make FILE EVENTS` writes the synthetic one; `bench_snapshot --diff` compares two of
 *                 them.
 * Must not know:  the contents of snapshots.
 * Invariant:      every figure is the median of ROUNDS rounds of separate processes, vramscope and the peer
 *                 alternately. CPU time is user and system time of whole processes. The ratios in brackets subtract the
 *                 start of the interpreter (`import pickle` alone) from the peer's figures, and nothing from
 *                 vramscope's.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "base/mem.h"
#include "bench/rows.h"
#include "bench/snapshot_writer.h"
#include "recording/memlist.h"
#include "recording/snapshot.h"

#define EVENTS 300000
#define DIFF_EVENTS 1000000
#define ROUNDS 5
#define ROUNDS_LARGE 1
#define LARGE_BYTES (512 << 20)
#define SECONDS_MIN 0.02
#define MIB_MIN 4

struct cost {
    double seconds;
    double mib;
};

/*
 * Everything that is run: this program itself, vramscope, and the interpreter, without what may stand in front of it.
 */
struct programs {
    char self[4096];
    char vramscope[4200];
    char python[4096];
    struct cost start; /* the interpreter's */
};

/* ---- one run, in a process of its own ---- */

/* worst: the largest exit status that is no failure. */
static struct cost run_until(const char *const *argv, int worst)
{
    struct rusage usage;
    struct cost cost = {-1, -1};
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);

        dup2(null, STDOUT_FILENO);
        execv(argv[0], (char *const *)(uintptr_t)argv); /* it does not write there */
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) ||
        WEXITSTATUS(status) > worst)
        return cost;
    cost.seconds = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
                   (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
    cost.mib = (double)usage.ru_maxrss / 1024;
    return cost;
}

static struct cost run(const char *const *argv)
{
    return run_until(argv, 0);
}

static struct cost run_peer(const struct programs *programs, const char *path)
{
    size_t len = path ? strlen(path) : 0;
    bool is_packed = len > 3 && strcmp(path + len - 3, ".gz") == 0;
    const char *const argv[] = {programs->python, "-c",
                                !path       ? "import pickle"
                                : is_packed ? "import pickle, gzip, sys; "
                                              "pickle.load(gzip.open(sys.argv[1]))"
                                            : "import pickle, sys; pickle.load(open(sys.argv[1], "
                                              "'rb'))",
                                path, NULL};

    return run(argv);
}

static struct cost run_read(const struct programs *programs, const char *path)
{
    const char *const argv[] = {programs->self, "--read", path, NULL};

    return run(argv);
}

static struct cost run_import(const struct programs *programs, const char *path, const char *trace)
{
    const char *const argv[] = {programs->vramscope, "import", path, "-o", trace, "--force", NULL};

    return run(argv);
}

static int by_seconds(const void *a, const void *b)
{
    const struct cost *x = a;
    const struct cost *y = b;

    return x->seconds < y->seconds ? -1 : x->seconds > y->seconds;
}

static struct cost median(struct cost *costs, int rounds)
{
    qsort(costs, (size_t)rounds, sizeof(*costs), by_seconds);
    return costs[rounds / 2];
}

/* ---- a line ---- */

/* Ours against the peer's; behind it the same without the interpreter, where that leaves something to measure. */
static void against(const struct programs *programs, struct cost peer, struct cost ours)
{
    double seconds = peer.seconds - programs->start.seconds;
    double mib = peer.mib - programs->start.mib;

    printf("  %8.3f %6.0f %6.1f", ours.seconds, ours.mib, peer.seconds / ours.seconds);
    printf(seconds > SECONDS_MIN ? " (%4.1f)" : "       ", seconds / ours.seconds);
    printf(" %6.2f", ours.mib / peer.mib);
    printf(mib > MIB_MIN ? " (%4.2f)" : "       ", ours.mib / mib);
}

/* The rows of the page, of the snapshot that is made. */
static void rows_put(struct cost peer, struct cost read, struct cost import)
{
    bench_row("bench_snapshot", "read, 300,000 events", "%.2f s (1/%.1f)\t%.2f s", read.seconds,
              peer.seconds / read.seconds, peer.seconds);
    bench_row("bench_snapshot", "import of them", "%.2f s, %.0f MiB\t%.2f s, %.0f MiB",
              import.seconds, import.mib, peer.seconds, peer.mib);
}

static bool compare(const struct programs *programs, const char *name, const char *path,
                    bool is_made)
{
    char trace[] = "/tmp/bench_snapshot.XXXXXX";
    struct cost peers[ROUNDS], reads[ROUNDS], imports[ROUNDS];
    struct cost peer, read, import;
    struct stat about = {.st_size = 0};
    int fd = mkstemp(trace);
    int rounds = stat(path, &about) == 0 && about.st_size > LARGE_BYTES ? ROUNDS_LARGE : ROUNDS;

    close(fd);
    for (int i = 0; i < rounds; i++) {
        peers[i] = run_peer(programs, path);
        reads[i] = run_read(programs, path);
        imports[i] = run_import(programs, path, trace);
    }
    unlink(trace);
    peer = median(peers, rounds);
    read = median(reads, rounds);
    import = median(imports, rounds);
    if (peers[0].seconds < 0 || reads[0].seconds < 0 || imports[0].seconds < 0) {
        printf("%-34s one of the three failed\n", name);
        return false;
    }
    printf("%-34s %8.2f %8.3f %6.0f ", name, (double)about.st_size / 1e6, peer.seconds, peer.mib);
    against(programs, peer, read);
    against(programs, peer, import);
    putchar('\n');
    fflush(stdout);
    if (is_made)
        rows_put(peer, read, import);
    return true;
}

/* What a .gz holds, in a file of its own. */
static bool unpack(const char *path, const char *to)
{
    static char buffer[1 << 20];
    gzFile from = gzopen(path, "rb");
    FILE *file = fopen(to, "wb");
    int n = 0;

    while (from && file && (n = gzread(from, buffer, sizeof(buffer))) > 0)
        fwrite(buffer, 1, (size_t)n, file);
    if (from)
        gzclose(from);
    return file && fclose(file) == 0 && from && n == 0;
}

static bool compare_file(const struct programs *programs, const char *path)
{
    char copy[4096];
    char plain[] = "/tmp/bench_snapshot.XXXXXX";
    char *name;
    bool is_done;
    int fd;

    snprintf(copy, sizeof(copy), "%s", path);
    name = basename(copy);
    if (strlen(name) <= 3 || strcmp(name + strlen(name) - 3, ".gz") != 0)
        return compare(programs, name, path, false);
    fd = mkstemp(plain);
    close(fd);
    is_done = unpack(path, plain);
    if (is_done) {
        is_done = compare(programs, name, path, false);
        name[strlen(name) - 3] = '\0';
        is_done = compare(programs, name, plain, false) && is_done;
    }
    unlink(plain);
    return is_done;
}

/* ---- the beginning ---- */

static bool programs_find(struct programs *programs)
{
    ssize_t len = readlink("/proc/self/exe", programs->self, sizeof(programs->self) - 1);
    const char *vramscope = getenv("VRAMSCOPE");
    const char *python = getenv("VRAMSCOPE_PYTHON");
    char command[4096];
    char folder[4096];
    FILE *answer;

    if (len < 0)
        return false;
    programs->self[len] = '\0';
    snprintf(folder, sizeof(folder), "%s", programs->self);
    /* build/bench/bench_snapshot, build/vramscope */
    snprintf(programs->vramscope, sizeof(programs->vramscope), "%s/../vramscope", dirname(folder));
    if (vramscope)
        snprintf(programs->vramscope, sizeof(programs->vramscope), "%s", vramscope);
    snprintf(command, sizeof(command), "%s -c 'import sys; print(sys.executable)'",
             python ? python : "python3");
    answer = popen(command, "r");
    if (!answer || !fgets(programs->python, sizeof(programs->python), answer))
        programs->python[0] = '\0';
    programs->python[strcspn(programs->python, "\n")] = '\0';
    if (answer)
        pclose(answer);
    for (int i = 0; i < ROUNDS; i++) {
        struct cost cost = run_peer(programs, NULL);

        if (i == 0 || cost.seconds < programs->start.seconds)
            programs->start = cost;
    }
    return programs->start.seconds >= 0;
}

static int make(const char *path, const char *events)
{
    FILE *file = fopen(path, "wb");
    uint64_t count = file ? snapshot_make(file, strtoull(events, NULL, 10)) : 0;

    if (!file || fclose(file) || !count) {
        perror(path);
        return 1;
    }
    printf("%s: %" PRIu64 " events\n", path, count);
    return 0;
}

static int read_only(const char *path)
{
    struct vs_memlist list = {.events = NULL};
    struct vs_error err = VS_ERROR_INIT;

    if (rec_memlist_read(path, REC_SNAPSHOT_FIRST, &list, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    vs_memlist_release(&list);
    return 0;
}

static bool compare_made(const struct programs *programs)
{
    char path[] = "/tmp/bench_snapshot.XXXXXX";
    char events[16];
    const char *const argv[] = {programs->self, "--make", path, events, NULL};
    int fd = mkstemp(path);
    bool is_done;

    close(fd);
    snprintf(events, sizeof(events), "%d", EVENTS);
    is_done = run(argv).seconds >= 0 && compare(programs, "invented, 300,000 events", path, true);
    unlink(path);
    return is_done;
}

/* ---- two traces ---- */

struct made {
    char snapshot[40];
    char trace[40];
};

static bool made_make(const struct programs *programs, struct made *made, uint64_t count)
{
    char events[24];
    const char *const argv[] = {programs->self, "--make", made->snapshot, events, NULL};

    strcpy(made->snapshot, "/tmp/bench_snapshot.XXXXXX");
    strcpy(made->trace, "/tmp/bench_snapshot.XXXXXX");
    close(mkstemp(made->snapshot));
    close(mkstemp(made->trace));
    snprintf(events, sizeof(events), "%" PRIu64, count);
    return run(argv).seconds >= 0 && run_import(programs, made->snapshot, made->trace).seconds >= 0;
}

/* `vramscope diff` of two imports, and of one with itself; beside it what the peer needs to load both snapshots. */
static bool compare_traces(const struct programs *programs)
{
    struct made made[2];
    bool is_made = made_make(programs, &made[0], DIFF_EVENTS) &&
                   made_make(programs, &made[1], DIFF_EVENTS * 12 / 11);

    for (int other = 1; other >= 0 && is_made; other--) {
        const char *const argv[] = {programs->vramscope, "diff", made[0].trace, made[other].trace,
                                    NULL};
        struct cost ours[ROUNDS], peers[ROUNDS];
        struct cost peer, diff;

        for (int i = 0; i < ROUNDS; i++) {
            ours[i] = run_until(argv, 1);
            peers[i] = run_peer(programs, made[0].snapshot);
            peers[i].seconds += run_peer(programs, made[other].snapshot).seconds;
        }
        diff = median(ours, ROUNDS);
        peer = median(peers, ROUNDS);
        is_made = ours[0].seconds >= 0 && peers[0].seconds >= 0; /* the first after the sort */
        printf("%-34s %8.3f s %6.0f MiB; pickle.load of both %8.3f s, %5.1f times\n",
               other ? "diff, invented, 10^6 and 1.1*10^6" : "diff of the first with itself",
               diff.seconds, diff.mib, peer.seconds, peer.seconds / diff.seconds);
    }
    for (int i = 0; i < 2; i++) {
        unlink(made[i].snapshot);
        unlink(made[i].trace);
    }
    return is_made;
}

int main(int argc, char **argv)
{
    struct programs *programs;
    bool is_done = true;

    if (argc == 4 && strcmp(argv[1], "--make") == 0)
        return make(argv[2], argv[3]);
    if (argc == 3 && strcmp(argv[1], "--read") == 0)
        return read_only(argv[2]);
    programs = vs_calloc(1, sizeof(*programs));
    if (!programs_find(programs)) {
        puts("nothing to compare with: no python3");
        vs_free(programs);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--diff") == 0) {
        is_done = compare_traces(programs);
        vs_free(programs);
        return !is_done;
    }
    printf("the interpreter alone: %.3f s, %.0f MiB\n%34s %8s %8s %6s  %-43s  %s\n"
           "%34s %8s %8s %6s  %8s %6s %13s %13s  %8s %6s %13s %13s\n",
           programs->start.seconds, programs->start.mib, "", "", "", "load", "read", "import", "",
           "MB", "s", "MiB", "s", "MiB", "times", "memory", "s", "MiB", "times", "memory");
    for (int i = 1; i < argc; i++)
        is_done = compare_file(programs, argv[i]) && is_done;
    if (argc == 1)
        is_done = compare_made(programs);
    vs_free(programs);
    return !is_done;
}
