/*
 * tracer/inject/session.c - see session.h.
 *
 * A fork acquires all locks and pauses every writer thread, so that no lock of this library, of SQLite or of the C
 * library is held in the child. The child drops the inherited files without closing them: they belong to the parent.
 */
#include "tracer/inject/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "tracer/inject/lock.h"
#include "tracer/recorder.h"

#define DEVICES_MAX 64
#define COMMIT_MS 20
#define RING_SLOTS (1u << 14)
#define NAMES_MAX 100
#define STATUS_LINE 2048
#define END_WAIT_S 2
#define KEYS_MAX 16

/* rec: NULL if there is no file. is_known: the facts of the device were set. */
struct device {
    struct trc_recorder *rec;
    struct inj_sink sink;
    struct inj_facts facts;
    char path[PATH_MAX];
    bool is_known;
    bool is_bound;
    bool has_failed;
};

/*
 * first: the process's first file until a device uses it. out: "" if nothing is recorded. said: keys of
 * inj_status_once().
 */
static struct session {
    _Atomic bool is_on; /* read without the lock, by calls that continue while the process ends */
    bool has_file;
    bool is_lost;
    char out[PATH_MAX];
    char status[PATH_MAX + 16];
    struct device *first;
    struct device *devices[DEVICES_MAX];
    struct inj_memory *memory;
    enum vs_phase phase;
    int64_t step;
    uint64_t host_peak;
    const char *said[KEYS_MAX];
} session = {.step = -1};

/* ---- the status file ---- */

VS_PRINTF(2, 0) static void status_write(const char *key, const char *fmt, va_list ap)
{
    char line[STATUS_LINE];
    int len = snprintf(line, sizeof(line), "%ld %s: ", (long)getpid(), key);
    int more;
    int fd;

    more = vsnprintf(line + len, sizeof(line) - (size_t)len - 1, fmt, ap);
    len += more > 0 ? more : 0;
    len = len < STATUS_LINE - 2 ? len : STATUS_LINE - 2;
    for (int i = 0; i < len; i++)
        line[i] = line[i] == '\n' ? ' ' : line[i];
    line[len++] = '\n';
    fd = open(session.status, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    if (write(fd, line, (size_t)len) < 0) /* there is nowhere else to report it */
        errno = 0;
    close(fd);
}

void inj_status(const char *key, const char *fmt, ...)
{
    va_list ap;

    if (!session.out[0])
        return;
    va_start(ap, fmt);
    status_write(key, fmt, ap);
    va_end(ap);
}

void inj_status_once(const char *key, const char *fmt, ...)
{
    va_list ap;
    bool is_said = !session.out[0];

    inj_lock(INJ_LOCK_SESSION);
    for (size_t i = 0; i < KEYS_MAX && !is_said; i++) {
        is_said = session.said[i] && strcmp(session.said[i], key) == 0;
        if (!session.said[i]) {
            session.said[i] = key;
            break;
        }
    }
    inj_unlock(INJ_LOCK_SESSION);
    if (is_said)
        return;
    va_start(ap, fmt);
    status_write(key, fmt, ap);
    va_end(ap);
}

/* ---- files ---- */

static void number_set(struct trc_recorder *rec, const char *key, uint64_t number)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, number);
    trc_recorder_meta_set(rec, key, text);
}

static void environment_set(struct trc_recorder *rec, const char *key, const char *variable)
{
    const char *value = getenv(variable);

    if (value)
        trc_recorder_meta_set(rec, key, value);
}

/* Store the arguments, joined by spaces; source_name: the first argument without its folder. */
static void command_set(struct trc_recorder *rec)
{
    struct vs_text text = {NULL, 0, 0};
    FILE *file = fopen("/proc/self/cmdline", "re");
    const char *slash;
    int c;

    while (file && (c = fgetc(file)) != EOF)
        vs_text_add_char(&text, c ? (char)c : '\n');
    if (file)
        fclose(file);
    if (text.len && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    if (text.len) {
        char *end = strchr(text.data, '\n');

        if (end)
            *end = '\0';
        slash = strrchr(text.data, '/');
        trc_recorder_meta_set(rec, "source_name", slash ? slash + 1 : text.data);
        if (end)
            *end = ' ';
        for (; end && *end; end++)
            *end = *end == '\n' ? ' ' : *end;
        trc_recorder_meta_set(rec, "command", text.data);
    }
    vs_text_release(&text);
}

static void process_set(struct trc_recorder *rec)
{
    trc_recorder_meta_set(rec, "source_kind", "program");
    trc_recorder_meta_set(rec, "device", "cuda");
    number_set(rec, "pid", (uint64_t)getpid());
    number_set(rec, "ppid", (uint64_t)getppid());
    environment_set(rec, "cuda_visible_devices", "CUDA_VISIBLE_DEVICES");
    environment_set(rec, "rank", "RANK");
    command_set(rec);
}

/* The recorder's thread must not receive the program's signals. */
static enum vs_status recorder_open(struct device *d, struct vs_error *err)
{
    const struct trc_recorder_options options = {.commit_ms = COMMIT_MS, .ring_slots = RING_SLOTS};
    enum vs_status st;
    sigset_t all;
    sigset_t old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    st = trc_recorder_open(d->path, &options, &d->rec, err);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return st;
}

/* Format the name of a file; `attempt` is increased until the name is free. gpu: the device; -1: the first file. */
static void path_make(int gpu, int attempt, char *out, size_t size)
{
    char pid[24] = "";
    char device[24] = "";
    char again[24] = "";

    if (attempt > 0)
        snprintf(pid, sizeof(pid), ".%ld", (long)getpid());
    if (gpu >= 0)
        snprintf(device, sizeof(device), ".gpu%d", gpu);
    if (attempt > 1)
        snprintf(again, sizeof(again), ".%d", attempt);
    if ((size_t)snprintf(out, size, "%s%s%s%s", session.out, pid, again, device) >= size)
        out[0] = '\0';
}

/* The observer's user is the recorder. */
static void on_frame(void *user, uint32_t stack, uint32_t depth, uint32_t func, uint32_t line)
{
    trc_recorder_frame(user, stack, depth, func, line);
}

static void on_stack(void *user, uint32_t stack)
{
    trc_recorder_stack(user, stack);
}

/* Create a new file of the process; NULL: it failed, which has been reported. Call with the lock held. */
static struct device *device_new(int gpu)
{
    struct device *d = vs_calloc(1, sizeof(*d));
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = VS_E_EXISTS;

    for (int i = 0; i < NAMES_MAX && st == VS_E_EXISTS; i++) {
        path_make(gpu, i, d->path, sizeof(d->path));
        err = (struct vs_error)VS_ERROR_INIT;
        st = recorder_open(d, &err);
    }
    if (st) {
        inj_status("write", "%s", err.text);
        d->has_failed = true;
        return d;
    }
    d->sink = (struct inj_sink){
        .observer = trc_recorder_observer(d->rec), .frame = on_frame, .stack = on_stack};
    session.has_file = true;
    process_set(d->rec);
    inj_status("trace", "%s", d->path);
    return d;
}

static void device_close(struct device *d, bool is_complete)
{
    struct vs_error err = VS_ERROR_INIT;

    if (!d->rec)
        return;
    if (trc_recorder_close(d->rec, is_complete, &err))
        inj_status("write", "%s", err.text);
    else
        inj_status("closed", "%s", d->path);
    inj_sink_release(&d->sink);
    d->rec = NULL;
    d->has_failed = true;
}

/* ---- devices ---- */

static void facts_set(struct device *d, uint32_t number)
{
    const struct inj_facts *facts = &d->facts;
    struct timespec now;

    /* the recorder has just been opened, and its times count from there */
    clock_gettime(CLOCK_REALTIME, &now);
    number_set(d->rec, "began_us", (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
    number_set(d->rec, "device_number", number);
    if (facts->name[0])
        trc_recorder_meta_set(d->rec, "device_name", facts->name);
    if (facts->total_bytes)
        number_set(d->rec, "device_bytes", facts->total_bytes);
    if (facts->free_bytes)
        number_set(d->rec, "device_free", facts->free_bytes);
    if (facts->driver_version)
        number_set(d->rec, "driver_version", (uint64_t)facts->driver_version);
    if (facts->runtime_version)
        number_set(d->rec, "runtime_version", (uint64_t)facts->runtime_version);
    inj_status("device", "%" PRIu32 "%s%s", number, facts->name[0] ? " " : "", facts->name);
}

static void step_emit(struct device *d, int64_t step)
{
    const struct eng_observer *to = d->sink.observer;

    if (d->rec)
        to->emit(to->user, &(struct vs_event){.kind = VS_EV_STEP,
                                              .step = {.number_plus_one = (uint64_t)(step + 1)}});
}

static void phase_emit(struct device *d, enum vs_phase phase)
{
    const struct eng_observer *to = d->sink.observer;

    if (d->rec)
        to->emit(to->user, &(struct vs_event){.kind = VS_EV_PHASE, .phase = {.phase = phase}});
}

/* Steps, phases and ranges that are open in other files are opened in this one. */
static void device_bind(struct device *d, uint32_t number)
{
    d->is_bound = true;
    if (!d->rec)
        return;
    facts_set(d, number);
    if (session.step >= 0)
        step_emit(d, session.step);
    if (session.phase != VS_PHASE_SETUP)
        phase_emit(d, session.phase);
}

static struct device *device_at(uint32_t number)
{
    struct device **d = &session.devices[number % DEVICES_MAX];

    if (!*d && session.first) {
        *d = session.first;
        session.first = NULL;
    }
    if (!*d)
        *d = device_new(session.has_file ? (int)number : -1);
    return *d;
}

/* A file that cannot be written any more is closed at once, so that the reason is reported while the program runs. */
static struct inj_sink *on_sink(void *user, uint32_t number)
{
    struct device *d = device_at(number);
    struct trc_recorder_stats stats;

    (void)user;
    if (!d->rec)
        return NULL;
    if (!d->is_bound)
        device_bind(d, number);
    trc_recorder_stats(d->rec, &stats);
    if (!stats.failed)
        return &d->sink;
    device_close(d, false);
    return NULL;
}

/* Store only changes: a program may allocate pinned memory often. */
static void on_host(void *user, uint64_t now, uint64_t peak)
{
    struct device *d = session.first;

    (void)user;
    for (size_t i = 0; i < DEVICES_MAX && !d; i++)
        d = session.devices[i];
    if (!d || !d->rec)
        return;
    number_set(d->rec, "host_allocated", now);
    if (peak > session.host_peak)
        number_set(d->rec, "host_peak", peak);
    session.host_peak = peak;
}

bool inj_session_knows(uint32_t device)
{
    bool is_known = true;

    inj_lock(INJ_LOCK_SESSION);
    if (session.is_on)
        is_known = session.devices[device % DEVICES_MAX] &&
                   session.devices[device % DEVICES_MAX]->is_known;
    inj_unlock(INJ_LOCK_SESSION);
    return is_known;
}

void inj_session_introduce(uint32_t device, const struct inj_facts *facts)
{
    struct device *d;

    inj_lock(INJ_LOCK_SESSION);
    if (session.is_on) {
        d = device_at(device);
        if (!d->is_known)
            d->facts = *facts;
        d->is_known = true;
    }
    inj_unlock(INJ_LOCK_SESSION);
}

struct inj_memory *inj_session_lock(void)
{
    inj_lock(INJ_LOCK_SESSION);
    if (session.is_on)
        return session.memory;
    inj_unlock(INJ_LOCK_SESSION);
    return NULL;
}

void inj_session_unlock(void)
{
    inj_unlock(INJ_LOCK_SESSION);
}

/*
 * Runs on a thread of the program. If the file reaches the limit on file sizes, the recorder fails; the SIGXFSZ that
 * this causes is discarded and does not reach the program.
 */
void inj_session_commit(void)
{
    const struct timespec at_once = {0, 0};
    sigset_t all;
    sigset_t old;
    sigset_t before;
    sigset_t grown;

    sigfillset(&all);
    sigemptyset(&grown);
    sigaddset(&grown, SIGXFSZ);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    sigpending(&before);
    for (size_t i = 0; i < DEVICES_MAX; i++)
        if (session.devices[i] && session.devices[i]->rec)
            trc_recorder_commit(session.devices[i]->rec);
    if (!sigismember(&before, SIGXFSZ))
        (void)sigtimedwait(&grown, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- phases and steps ---- */

void inj_session_phase(enum vs_phase phase)
{
    inj_lock(INJ_LOCK_SESSION);
    for (size_t i = 0; phase != session.phase && i < DEVICES_MAX; i++)
        if (session.devices[i] && session.devices[i]->is_bound)
            phase_emit(session.devices[i], phase);
    session.phase = phase;
    inj_unlock(INJ_LOCK_SESSION);
}

void inj_session_step(void)
{
    inj_lock(INJ_LOCK_SESSION);
    session.step++;
    for (size_t i = 0; i < DEVICES_MAX; i++)
        if (session.devices[i] && session.devices[i]->is_bound)
            step_emit(session.devices[i], session.step);
    inj_unlock(INJ_LOCK_SESSION);
}

enum vs_phase inj_session_phase_now(void)
{
    return session.phase;
}

/* ---- all files ---- */

static void each_file(void (*each)(struct device *d))
{
    if (session.first)
        each(session.first);
    for (size_t i = 0; i < DEVICES_MAX; i++)
        if (session.devices[i])
            each(session.devices[i]);
}

/* Where it happened follows from the event before. */
static void file_lost(struct device *d, const char *text)
{
    if (d && d->rec)
        trc_recorder_meta_set(d->rec, "device_error", text);
}

void inj_session_lost(const char *error, const char *call)
{
    char text[256];

    snprintf(text, sizeof(text), "%s, said by %s", error, call);
    inj_status_once("gpu", "lost: %s", text);
    inj_lock(INJ_LOCK_SESSION);
    if (!session.is_lost) {
        file_lost(session.first, text);
        for (size_t i = 0; i < DEVICES_MAX; i++)
            file_lost(session.devices[i], text);
    }
    session.is_lost = true;
    inj_unlock(INJ_LOCK_SESSION);
}

/* ---- begin, fork, end ---- */

static void file_hold(struct device *d)
{
    if (d->rec)
        trc_recorder_hold(d->rec);
}

static void file_go_on(struct device *d)
{
    if (d->rec)
        trc_recorder_go_on(d->rec);
}

void inj_session_fork_begin(void)
{
    for (int lock = 0; lock < INJ_LOCK_COUNT; lock++)
        inj_lock((enum inj_lock)lock);
    each_file(file_hold);
}

static void locks_give(void)
{
    for (int lock = 0; lock < INJ_LOCK_COUNT; lock++)
        inj_unlock((enum inj_lock)lock);
}

void inj_session_fork_parent(void)
{
    each_file(file_go_on);
    locks_give();
}

/* In the child: the parent's blocks and files are not the child's, so their memory is left as it is. */
void inj_session_fork_child(void)
{
    const struct inj_outlet outlet = {NULL, on_sink, on_host};

    session.first = NULL;
    session.has_file = session.is_lost = false;
    memset(session.devices, 0, sizeof(session.devices));
    memset(session.said, 0, sizeof(session.said));
    session.host_peak = 0;
    if (session.memory)
        session.memory = inj_memory_new(&outlet);
    locks_give();
}

bool inj_session_begin(void)
{
    const char *out = getenv("VRAMSCOPE_OUT");
    const char *status = getenv("VRAMSCOPE_STATUS");
    bool is_first;

    inj_lock(INJ_LOCK_SESSION);
    is_first = !session.out[0] && out && *out && strlen(out) + 64 < sizeof(session.out);
    if (is_first) {
        snprintf(session.out, sizeof(session.out), "%s", out);
        if (status && *status && strlen(status) < sizeof(session.status))
            snprintf(session.status, sizeof(session.status), "%s", status);
        else
            snprintf(session.status, sizeof(session.status), "%s.status", out);
        inj_status("cuda", "initialized");
    }
    inj_unlock(INJ_LOCK_SESSION);
    return is_first;
}

bool inj_session_open(void)
{
    const struct inj_outlet outlet = {NULL, on_sink, on_host};
    bool is_on;

    inj_lock(INJ_LOCK_SESSION);
    session.first = device_new(-1);
    session.memory = inj_memory_new(&outlet);
    is_on = !session.first->has_failed;
    session.is_on = is_on;
    inj_unlock(INJ_LOCK_SESSION);
    return is_on;
}

bool inj_session_is_on(void)
{
    return session.is_on;
}

static void file_end(struct device *d)
{
    bool is_refused = false;

    for (uint32_t i = 0; i < DEVICES_MAX; i++)
        if (session.devices[i] == d)
            is_refused = inj_memory_is_refused(session.memory, i);
    if (d->rec)
        trc_recorder_meta_set(d->rec, "outcome", is_refused ? "oom" : "done");
    device_close(d, true);
}

/* A thread that was stopped while holding the lock will never release it. */
void inj_session_end(void)
{
    if (!inj_lock_within(INJ_LOCK_SESSION, END_WAIT_S))
        return;
    if (session.is_on)
        each_file(file_end);
    session.is_on = false;
    inj_unlock(INJ_LOCK_SESSION);
}
