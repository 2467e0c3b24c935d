/*
 * standin/runtime/ranks/exchange.c - see exchange.h.
 *
 * A group has a board, a file that all its ranks map: for each rank its process and the numbers that it has reached and
 * sent. What a rank sends is appended to a file of its own, before its number on the board is raised.
 */
#include "standin/runtime/ranks/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"

#define ID_RANDOM 16
#define MESSAGE_BYTES_MAX ((size_t)256 << 20)

/* One rank on the board. 64 bytes, so that ranks do not share a cache line. */
struct seat {
    uint64_t reached;
    uint64_t sent;
    int32_t pid; /* 0: has not joined */
    char unused[44];
};

/* to: 0: all, else the rank + 1; len: of what follows, UINT64_MAX: not known */
struct head {
    uint64_t number;
    uint64_t to;
    uint64_t len;
};

/* A message that was read from a rank's file, and not asked for yet. */
struct message {
    struct head head;
    char *bytes;
};

/* What was read of a rank's file. */
struct reader {
    int fd;
    off_t at;
    struct message *messages;
    size_t count, cap;
};

/* send_lock: guards the rank's own file; receive_lock: guards the readers */
struct sti_group {
    char path[PATH_MAX];
    int ranks;
    int rank;
    struct seat *board;
    int fd;
    pthread_mutex_t send_lock;
    pthread_mutex_t receive_lock;
    struct reader *readers;
};

static char folder[PATH_MAX];

void sti_exchange_open(const char *path)
{
    snprintf(folder, sizeof(folder), "%s", path ? path : "");
}

bool sti_exchange_is_open(void)
{
    return folder[0] != '\0';
}

void sti_exchange_id(char out[STI_ID_BYTES])
{
    memset(out, 'V', STI_ID_BYTES);
    if (getrandom(out, ID_RANDOM, 0) != ID_RANDOM) { /* a clock and a process are as good here */
        struct timespec now;
        uint64_t words[2];

        clock_gettime(CLOCK_MONOTONIC, &now);
        words[0] = vs_hash_mix((uint64_t)now.tv_sec, (uint64_t)now.tv_nsec);
        words[1] = vs_hash_mix((uint64_t)getpid(), words[0]);
        memcpy(out, words, sizeof(words));
    }
}

double sti_exchange_limit(void)
{
    const char *text = getenv("VRAMSCOPE_RANK_WAIT");
    const double seconds = text ? strtod(text, NULL) : 0;

    return seconds > 0 ? seconds : STI_WAIT_SECONDS;
}

/* ---- joining ---- */

static bool board_map(struct sti_group *group)
{
    const size_t bytes = (size_t)group->ranks * sizeof(struct seat);
    const int fd = open(group->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *at = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    group->board = at == MAP_FAILED ? NULL : at;
    return group->board != NULL;
}

static int file_of(const struct sti_group *group, int rank, int flags)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof(path), "%s.%d", group->path, rank);
    return open(path, flags | O_CLOEXEC, 0600);
}

struct sti_group *sti_group_join(const char id[STI_ID_BYTES], int ranks, int rank)
{
    struct sti_group *group;
    int len;

    if (!folder[0] || ranks < 1 || rank < 0 || rank >= ranks)
        return NULL;
    group = vs_calloc(1, sizeof(*group));
    group->ranks = ranks;
    group->rank = rank;
    len = snprintf(group->path, sizeof(group->path), "%s/nccl-", folder);
    for (int i = 0; i < ID_RANDOM && len > 0 && len < (int)sizeof(group->path); i++)
        len += snprintf(group->path + len, sizeof(group->path) - (size_t)len, "%02x",
                        (unsigned)(unsigned char)id[i]);
    group->fd = -1;
    pthread_mutex_init(&group->send_lock, NULL);
    pthread_mutex_init(&group->receive_lock, NULL);
    group->readers = vs_calloc((size_t)ranks, sizeof(*group->readers));
    for (int i = 0; i < ranks; i++)
        group->readers[i].fd = -1;
    if (len < (int)sizeof(group->path) && board_map(group))
        group->fd = file_of(group, rank, O_WRONLY | O_APPEND | O_CREAT);
    if (group->fd < 0) {
        sti_group_free(group);
        return NULL;
    }
    __atomic_store_n(&group->board[rank].pid, (int32_t)getpid(), __ATOMIC_RELEASE);
    return group;
}

void sti_group_free(struct sti_group *group)
{
    if (!group)
        return;
    for (int i = 0; i < group->ranks; i++) {
        struct reader *reader = &group->readers[i];

        if (reader->fd >= 0)
            close(reader->fd);
        for (size_t k = 0; k < reader->count; k++)
            vs_free(reader->messages[k].bytes);
        vs_free(reader->messages);
    }
    vs_free(group->readers);
    if (group->board)
        munmap(group->board, (size_t)group->ranks * sizeof(struct seat));
    if (group->fd >= 0)
        close(group->fd);
    pthread_mutex_destroy(&group->send_lock);
    pthread_mutex_destroy(&group->receive_lock);
    vs_free(group);
}

/* ---- sending ---- */

/* A file system that is full loses the message: then it is not known to the others. */
static void append(const struct sti_group *group, struct head head, const void *bytes)
{
    const size_t len = bytes ? (size_t)head.len : 0;
    char *record = vs_alloc(sizeof(head) + len);
    size_t at = 0;

    memcpy(record, &head, sizeof(head));
    if (len)
        memcpy(record + sizeof(head), bytes, len);
    while (at < sizeof(head) + len) {
        const ssize_t written = write(group->fd, record + at, sizeof(head) + len - at);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break;
        at += (size_t)written;
    }
    vs_free(record);
}

void sti_group_reach(struct sti_group *group, uint64_t number)
{
    __atomic_store_n(&group->board[group->rank].reached, number, __ATOMIC_RELEASE);
}

void sti_group_send(struct sti_group *group, uint64_t number, const void *bytes, size_t len)
{
    pthread_mutex_lock(&group->send_lock);
    if (bytes) /* what is not known need not be written */
        append(group, (struct head){number, 0, len}, bytes);
    __atomic_store_n(&group->board[group->rank].sent, number, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&group->send_lock);
}

void sti_group_send_to(struct sti_group *group, int rank, uint64_t number, const void *bytes,
                       size_t len)
{
    pthread_mutex_lock(&group->send_lock);
    append(group, (struct head){number, (uint64_t)rank + 1, bytes ? len : UINT64_MAX}, bytes);
    pthread_mutex_unlock(&group->send_lock);
}

/* ---- receiving ---- */

static bool read_all(int fd, void *out, size_t len, off_t at)
{
    size_t got = 0;

    while (got < len) {
        const ssize_t n = pread(fd, (char *)out + got, len - got, at + (off_t)got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

/* Read the messages that the rank has sent since, as far as they are complete; those to other ranks are skipped. */
static void reader_fill(const struct sti_group *group, int rank)
{
    struct reader *reader = &group->readers[rank];
    struct head head;

    if (reader->fd < 0)
        reader->fd = file_of(group, rank, O_RDONLY);
    while (reader->fd >= 0 && read_all(reader->fd, &head, sizeof(head), reader->at)) {
        const size_t len = head.len == UINT64_MAX ? 0 : (size_t)head.len;
        char *bytes;

        if (len > MESSAGE_BYTES_MAX)
            return;
        bytes = vs_alloc(len + 1);
        if (!read_all(reader->fd, bytes, len, reader->at + (off_t)sizeof(head))) {
            vs_free(bytes);
            return;
        }
        reader->at += (off_t)(sizeof(head) + len);
        if (head.to && head.to != (uint64_t)group->rank + 1) {
            vs_free(bytes);
            continue;
        }
        reader->messages =
            vs_grow(reader->messages, reader->count, &reader->cap, sizeof(*reader->messages));
        reader->messages[reader->count++] = (struct message){head, bytes};
    }
}

/* Take the message out, and those to the same address that came before it: nobody will want them any more. */
static bool message_take(struct reader *reader, uint64_t to, uint64_t number, struct message *out)
{
    bool is_found = false;
    size_t kept = 0;

    for (size_t i = 0; i < reader->count; i++) {
        struct message *m = &reader->messages[i];

        if (m->head.to == to && m->head.number == number && !is_found) {
            *out = *m;
            is_found = true;
        } else if (m->head.to == to && m->head.number < number) {
            vs_free(m->bytes);
        } else {
            reader->messages[kept++] = *m;
        }
    }
    reader->count = kept;
    return is_found;
}

/* Has the process ended? One that its parent has not waited for has, too. */
static bool has_ended(int32_t pid)
{
    char path[64];
    char text[512];
    const char *after;
    FILE *file;
    size_t len;

    if (kill(pid, 0) != 0 && errno == ESRCH)
        return true;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    after = strrchr(text, ')'); /* "PID (NAME) STATE" */
    return after && after[1] == ' ' && (after[2] == 'Z' || after[2] == 'X');
}

uint64_t sti_group_reached(const struct sti_group *group, int rank)
{
    return __atomic_load_n(&group->board[rank].reached, __ATOMIC_ACQUIRE);
}

uint64_t sti_group_sent(const struct sti_group *group, int rank)
{
    return __atomic_load_n(&group->board[rank].sent, __ATOMIC_ACQUIRE);
}

bool sti_group_has_ended(const struct sti_group *group, int rank)
{
    const int32_t pid = __atomic_load_n(&group->board[rank].pid, __ATOMIC_ACQUIRE);

    return pid && has_ended(pid);
}

/* to: as in a message's head */
static bool take(struct sti_group *group, int rank, uint64_t to, uint64_t number,
                 struct message *out)
{
    bool is_there;

    pthread_mutex_lock(&group->receive_lock);
    reader_fill(group, rank);
    is_there = message_take(&group->readers[rank], to, number, out);
    pthread_mutex_unlock(&group->receive_lock);
    return is_there;
}

static enum sti_arrival message_give(const struct message *message, char **out, size_t *len)
{
    if (message->head.len == UINT64_MAX) {
        vs_free(message->bytes);
        return STI_NOT_KNOWN;
    }
    *out = message->bytes;
    *len = (size_t)message->head.len;
    return STI_ARRIVED;
}

enum sti_arrival sti_group_receive(struct sti_group *group, int rank, uint64_t number, char **out,
                                   size_t *len)
{
    struct message message;

    if (sti_group_sent(group, rank) < number)
        return STI_NOT_YET;
    return take(group, rank, 0, number, &message) ? message_give(&message, out, len)
                                                  : STI_NOT_KNOWN;
}

enum sti_arrival sti_group_receive_from(struct sti_group *group, int rank, uint64_t number,
                                        char **out, size_t *len)
{
    struct message message;

    return take(group, rank, (uint64_t)group->rank + 1, number, &message)
               ? message_give(&message, out, len)
               : STI_NOT_YET;
}
