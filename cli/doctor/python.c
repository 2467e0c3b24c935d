/*
 * cli/doctor/python.c - see python.h.
 */
#include "cli/doctor/python.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "standin/torch.h"

/* A line of the answer begins with this; all others are Python's own words. */
#define MARK "@vramscope "

/* Any Python may run this, 2.7, too. */
static const char SCRIPT[] =
    "import os, sys\n"
    "def say(key, value):\n"
    "    sys.stdout.write('" MARK "%s %s\\n' % (key, str(value).replace('\\n', ' ')))\n"
    "say('path', sys.executable or '')\n"
    "say('version', sys.version.split()[0])\n"
    "say('machine', os.uname()[4] if sys.maxsize > 2 ** 32 else '32 bits')\n"
    "try:\n"
    "    say('libc', os.confstr('CS_GNU_LIBC_VERSION') or 'other')\n"
    "except Exception:\n"
    "    say('libc', 'other')\n"
    "try:\n"
    "    import importlib.util, re\n"
    "    spec = importlib.util.find_spec('torch')\n"
    "    if spec and spec.origin:\n"
    "        folder = os.path.dirname(os.path.abspath(spec.origin))\n"
    "        say('torch', folder)\n"
    "        with open(os.path.join(folder, 'version.py')) as f:\n"
    "            found = re.findall(r\"^(__version__|cuda|hip)\\b.*?=\\s*'([^']*)'\", f.read(), "
    "re.M)\n"
    "        for key, value in found:\n"
    "            say(key, value)\n"
    "        from importlib import metadata\n"
    "        missing = []\n"
    "        for need in metadata.requires('torch') or []:\n"
    "            name = re.match(r'[\\w.-]+', need).group()\n"
    "            if 'extra ==' in need or re.match('nvidia|cuda|triton', name):\n"
    "                continue\n"
    "            try:\n"
    "                metadata.version(name)\n"
    "            except metadata.PackageNotFoundError:\n"
    "                missing.append(name)\n"
    "        say('missing', ' '.join(missing))\n"
    "except Exception:\n"
    "    pass\n";

struct answer {
    struct vs_text text;
    bool is_late;
    int status;
};

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* All that comes out of `fd` until it is closed. False: there was no end in time. */
static bool read_until(int fd, int64_t end_ms, struct vs_text *out)
{
    char part[4096];
    ssize_t n = 1;

    while (n > 0) {
        struct pollfd input = {.fd = fd, .events = POLLIN};
        const int64_t left = end_ms - now_ms();
        const int ready = left > 0 ? poll(&input, 1, (int)left) : 0;

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return false;
        n = read(fd, part, sizeof(part));
        if (n > 0)
            vs_text_add_n(out, part, (size_t)n);
        else if (n < 0 && errno == EINTR)
            n = 1;
    }
    return true;
}

/* Start it in a process group of its own, its words going to `out`. Returns 0, or an errno. */
static int start(const char *program, int out, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    char *name = vs_strdup(program);
    char *script = vs_strdup(SCRIPT);
    char option[] = "-c";
    char *const argv[] = {name, option, script, NULL};
    int status;

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDERR_FILENO);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
    status = posix_spawnp(pid, program, &files, &how, argv, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    vs_free(script);
    vs_free(name);
    return status;
}

/* Returns 0, or an errno: it could not be started. */
static int answer_of(const char *program, int limit_ms, struct answer *out)
{
    int ends[2];
    pid_t pid;
    int status;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    status = start(program, ends[1], &pid);
    close(ends[1]);
    if (!status) {
        out->is_late = !read_until(ends[0], now_ms() + limit_ms, &out->text);
        if (out->is_late)
            kill(-pid, SIGKILL);
        while (waitpid(pid, &out->status, 0) < 0 && errno == EINTR)
            ;
    }
    close(ends[0]);
    return status;
}

static void value_keep(const char *key, const char *value, struct doc_python *out)
{
    const struct {
        const char *key;
        char *to;
        size_t size;
    } KEYS[] = {
        {"path", out->path, sizeof(out->path)},
        {"version", out->version, sizeof(out->version)},
        {"machine", out->machine, sizeof(out->machine)},
        {"libc", out->libc, sizeof(out->libc)},
        {"torch", out->torch, sizeof(out->torch)},
        {"__version__", out->torch_version, sizeof(out->torch_version)},
        {"cuda", out->cuda, sizeof(out->cuda)},
        {"hip", out->hip, sizeof(out->hip)},
        {"missing", out->missing, sizeof(out->missing)},
    };

    for (size_t i = 0; i < sizeof(KEYS) / sizeof(KEYS[0]); i++)
        if (strcmp(key, KEYS[i].key) == 0)
            snprintf(KEYS[i].to, KEYS[i].size, "%s", value);
}

/* Keep what the lines say. Returns the last line that is none of them: a message of its own; NULL: there is none. */
static const char *lines_read(char *text, struct doc_python *out)
{
    const char *message = NULL;
    char *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        const size_t mark = strlen(MARK);
        char *value;

        if (strncmp(line, MARK, mark) != 0) {
            message = line;
            continue;
        }
        value = strchr(line + mark, ' ');
        if (!value)
            continue;
        *value++ = '\0';
        value_keep(line + mark, value, out);
    }
    return message;
}

/* Can what is in torch/lib use CUDA? */
static void libraries_check(struct doc_python *out)
{
    struct vs_error err = VS_ERROR_INIT;
    char path[PATH_MAX + 8];

    snprintf(path, sizeof(path), "%s/lib", out->torch);
    if (sti_torch_check(path, &err))
        snprintf(out->torch_why, sizeof(out->torch_why), "%s", err.text);
}

void doc_python_query(const char *program, int limit_ms, struct doc_python *out)
{
    struct answer answer = {.text = {NULL, 0, 0}};
    const int status = answer_of(program, limit_ms, &answer);
    char *text = vs_text_take(&answer.text);
    const char *message = lines_read(text, out);

    out->asked = program;
    if (status)
        snprintf(out->why, sizeof(out->why), "%s", strerror(status));
    else if (answer.is_late)
        snprintf(out->why, sizeof(out->why), "it did not answer within %d seconds",
                 limit_ms / 1000);
    else if (!*out->version)
        snprintf(out->why, sizeof(out->why), "it is no Python%s%s", message ? ": " : "",
                 message ? message : "");
    if (*out->torch)
        libraries_check(out);
    vs_free(text);
    vs_text_release(&answer.text);
}
