/*
 * bench/bench_snapshot.c - reading PyTorch's memory snapshots.
 *
 * For:            `make bench`. Peer: CPython's own pickle.load of the same file, in the same run, which only makes the objects; ours also makes
 *                 the list of events. CPU time and the most memory a process had, both in processes of their own.
 * Must not know:  what is in a snapshot but for what it writes itself.
 * Invariant:      every figure is the median of ROUNDS rounds, ours and the peer's taken in turn.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/memlist.h"

#define EVENTS 1000000
#define STACKS 400
#define FRAMES 30
#define ROUNDS 5

/* ---- a snapshot as CPython writes it, protocol 4 ---- */

static void put_text(FILE *f, const char *text)
{
    fputc(0x8c, f);
    fputc((int)strlen(text), f);
    fputs(text, f);
    fputc(0x94, f);
}

static void put_int(FILE *f, uint64_t n)
{
    fputc(0x8a, f);
    fputc(8, f);
    for (int i = 0; i < 8; i++)
        fputc((int)(n >> 8 * i & 0xff), f);
}

static void put_get(FILE *f, uint32_t memo)
{
    fputc('j', f);
    for (int i = 0; i < 4; i++)
        fputc((int)(memo >> 8 * i & 0xff), f);
}

/* A list of frames; memo numbers count what MEMOIZE has seen. Returns the list's number. */
static uint32_t put_stack(FILE *f, unsigned number, uint32_t *memo)
{
    uint32_t list = *memo;
    char name[128];

    fputs("]\x94(", f);
    ++*memo;
    for (unsigned i = 0; i < FRAMES; i++) {
        fputs("}\x94(", f);
        put_text(f, "name");
        snprintf(name, sizeof(name),
                 "void at::native::op%u_%u(at::Tensor const&, at::Scalar const&)", number, i);
        put_text(f, name);
        put_text(f, "filename");
        put_text(f, i + 1 < FRAMES ? "??" : "/home/someone/net.py");
        put_text(f, "line");
        fputs("K\x07u", f);
        *memo += 6;
    }
    fputc('e', f);
    return list;
}

/* Keys and actions are the same objects in all events: written once, then fetched. */
enum { KEY_ACTION, KEY_ADDR, KEY_SIZE, KEY_STREAM, KEY_TIME, KEY_FRAMES, ALLOC, FREE, WORDS };

static void put_word(FILE *f, unsigned word, uint32_t *numbers, uint32_t *memo)
{
    static const char *const TEXTS[WORDS] = {"action",  "addr",   "size",  "stream",
                                             "time_us", "frames", "alloc", "free_requested"};

    if (numbers[word]) {
        put_get(f, numbers[word]);
        return;
    }
    put_text(f, TEXTS[word]);
    numbers[word] = (*memo)++;
}

static void put_event(FILE *f, uint64_t at, uint32_t frames, uint32_t *numbers, uint32_t *memo)
{
    fputs("}\x94(", f);
    ++*memo;
    put_word(f, KEY_ACTION, numbers, memo);
    put_word(f, at % 2 ? FREE : ALLOC, numbers, memo);
    put_word(f, KEY_ADDR, numbers, memo);
    put_int(f, UINT64_C(0x7f0000000000) + at / 2 % 4096 * 512);
    put_word(f, KEY_SIZE, numbers, memo);
    put_int(f, 512 + at / 2 % 1000);
    put_word(f, KEY_STREAM, numbers, memo);
    fputs("K\x01", f);
    put_word(f, KEY_TIME, numbers, memo);
    put_int(f, UINT64_C(1700000000000000) + at);
    put_word(f, KEY_FRAMES, numbers, memo);
    put_get(f, frames);
    fputc('u', f);
}

static void snapshot_write(const char *path)
{
    static uint32_t stacks[STACKS];
    FILE *f = fopen(path, "wb");
    uint32_t numbers[WORDS] = {0};
    uint32_t memo = 4;

    if (!f) {
        perror(path);
        exit(1);
    }
    /* {"segments": [], "stacks": […], "device_traces": [[…]]}; memo 0 is the dict, 1 to 3 are the keys and the empty list */
    fputs("\x80\x04}\x94(", f);
    put_text(f, "segments");
    fputs("]\x94", f);
    put_text(f, "stacks");
    fputs("](", f);
    for (unsigned i = 0; i < STACKS; i++)
        stacks[i] = put_stack(f, i, &memo);
    fputc('e', f);
    put_text(f, "device_traces");
    memo++;
    fputs("](](", f);
    for (uint64_t i = 0; i < EVENTS; i++)
        put_event(f, i, stacks[i * 7 % STACKS], numbers, &memo);
    fputs("eeu.", f);
    fclose(f);
}

/* ---- the two ---- */

struct cost {
    double seconds;
    double mib;
};

/* Run it in a process of its own. argv NULL: ours. */
static struct cost run(const char *path, char *const *argv)
{
    struct rusage usage;
    struct cost cost;
    int status;
    pid_t pid = fork();

    if (pid == 0 && argv) {
        execvp(argv[0], argv);
        _exit(127);
    }
    if (pid == 0) {
        struct vs_memlist list = {.events = NULL};
        struct vs_error err = VS_ERROR_INIT;

        if (sto_memlist_read(path, -1, &list, &err)) {
            fprintf(stderr, "%s\n", err.text);
            _exit(1);
        }
        _exit(list.event_count == EVENTS ? 0 : 1);
    }
    wait4(pid, &status, 0, &usage);
    cost.seconds = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
                   (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
    cost.mib = (double)usage.ru_maxrss / 1024;
    if (status)
        cost.seconds = -1;
    return cost;
}

static int by_seconds(const void *a, const void *b)
{
    const struct cost *x = a;
    const struct cost *y = b;

    return x->seconds < y->seconds ? -1 : x->seconds > y->seconds;
}

int main(void)
{
    char path[] = "/tmp/bench_snapshot.XXXXXX";
    char program[128];
    char python[] = "python3";
    char minus_c[] = "-c";
    char *const argv[] = {python, minus_c, program, NULL};
    struct cost ours[ROUNDS];
    struct cost peers[ROUNDS];
    int fd = mkstemp(path);

    if (fd < 0)
        return 1;
    close(fd);
    snapshot_write(path);
    snprintf(program, sizeof(program), "import pickle; pickle.load(open('%s', 'rb'))", path);
    for (int i = 0; i < ROUNDS; i++) {
        ours[i] = run(path, NULL);
        peers[i] = run(path, argv);
    }
    unlink(path);
    qsort(ours, ROUNDS, sizeof(*ours), by_seconds);
    qsort(peers, ROUNDS, sizeof(*peers), by_seconds);
    if (peers[0].seconds < 0 || ours[0].seconds < 0) {
        puts("nothing to compare with: python3 could not read it, or ours could not");
        return ours[0].seconds < 0;
    }
    printf("snapshot of %d events: read %.1f times as fast as CPython's pickle.load, in %.0f %% of "
           "its memory\n"
           "  (%.2f s and %.0f MiB against %.2f s and %.0f MiB)\n",
           EVENTS, peers[ROUNDS / 2].seconds / ours[ROUNDS / 2].seconds,
           100 * ours[ROUNDS / 2].mib / peers[ROUNDS / 2].mib, ours[ROUNDS / 2].seconds,
           ours[ROUNDS / 2].mib, peers[ROUNDS / 2].seconds, peers[ROUNDS / 2].mib);
    return 0;
}
