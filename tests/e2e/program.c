/*
 * tests/e2e/program.c - see program.h.
 */
#include "tests/e2e/program.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/cell.h"
#include "tests/sanitizer.h"
#include "tests/wait.h"

#define ARGS_MAX 40
#define PATHS 8

static char folder[64];

const char *program_folder(void)
{
    if (!*folder) {
        snprintf(folder, sizeof(folder), "/tmp/vramscope-e2e-XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    return folder;
}

const char *program_path(const char *name)
{
    static char paths[PATHS][160];
    static unsigned next;
    char *path = paths[next++ % PATHS];

    snprintf(path, sizeof(paths[0]), "%s/%s", program_folder(), name);
    return path;
}

static void remove_all(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL) {
        char inner[512];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (unlink(inner) != 0)
            remove_all(inner);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

int program_count(const char *patterns)
{
    char command[512];
    FILE *pipe;
    int found = -1;

    snprintf(command, sizeof(command), "cd '%s' && ls -d %s 2>/dev/null | wc -l", program_folder(),
             patterns);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &found), 1);
    pclose(pipe);
    return found;
}

void program_cleanup(void)
{
    if (*folder)
        remove_all(folder);
    *folder = '\0';
}

const char *program_file(const char *name, const char *text)
{
    const char *path = program_path(name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    return path;
}

static char *read_all(FILE *file)
{
    size_t len = 0;
    size_t cap = 65536;
    char *text = malloc(cap);
    size_t n;

    assert_non_null(text);
    rewind(file);
    while ((n = fread(text + len, 1, cap - len - 1, file)) > 0) {
        len += n;
        if (len + 1 == cap) {
            cap *= 2;
            text = realloc(text, cap);
            assert_non_null(text);
        }
    }
    text[len] = '\0';
    fclose(file);
    return text;
}

/* argv for execv; the caller frees nothing. */
static void arguments(const char **argv, const char *first, va_list ap)
{
    const char *program = getenv("VRAMSCOPE");
    size_t n = 0;

    argv[n++] = program ? program : "build/vramscope";
    for (const char *arg = first; arg; arg = va_arg(ap, const char *)) {
        assert_true(n + 1 < ARGS_MAX);
        argv[n++] = arg;
    }
    argv[n] = NULL;
}

/*
 * In the child: what `world` says, before the program begins. Signals that this process ignores, as one that was
 * started in the background does, have their effect.
 */
static void enter(const struct program_world *world)
{
    static const int SIGNALS[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM};
    struct rlimit limit = {world->file_bytes, world->file_bytes};
    struct rlimit memory = {world->memory_bytes, world->memory_bytes};
    int ends[2];
    int fd = -1;

    for (size_t i = 0; i < sizeof(SIGNALS) / sizeof(SIGNALS[0]); i++)
        signal(SIGNALS[i], SIG_DFL);
    if (world->file_bytes && setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(126);
    /* a sanitizer reserves all the address space there is */
    if (world->memory_bytes && !HAS_SANITIZER && setrlimit(RLIMIT_AS, &memory) != 0)
        _exit(126);
    if (world->stdout_path)
        fd = open(world->stdout_path, O_WRONLY);
    if (world->no_reader && pipe(ends) == 0) {
        close(ends[0]);
        fd = ends[1];
    }
    if ((world->stdout_path || world->no_reader) && dup2(fd, 1) < 0)
        _exit(126);
}

static pid_t spawn(const struct program_world *world, const char **argv, FILE *out, FILE *err)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid)
        return pid;
    if (dup2(fileno(out), 1) < 0 || dup2(fileno(err), 2) < 0)
        _exit(126);
    enter(world);
    /* execv takes char *const[] for historical reasons; it changes nothing */
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static struct program run(const struct program_world *world, const char **argv)
{
    struct program p = {0, NULL, NULL};
    FILE *out = tmpfile();
    FILE *err = tmpfile();
    int status;
    pid_t pid;

    assert_non_null(out);
    assert_non_null(err);
    pid = spawn(world, argv, out, err);
    status = wait_child(pid, "%s %s to end", argv[0], argv[1] ? argv[1] : "");
    p.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    p.out = read_all(out);
    p.err = read_all(err);
    return p;
}

struct program program_run_in(const struct program_world *world, const char *argument, ...)
{
    const char *argv[ARGS_MAX];
    va_list ap;

    va_start(ap, argument);
    arguments(argv, argument, ap);
    va_end(ap);
    return run(world, argv);
}

struct program program_shell(const char *script)
{
    static const struct program_world ordinary;
    const char *argv[] = {"/bin/sh", "-c", script, NULL};

    return run(&ordinary, argv);
}

struct program program_run(const char *argument, ...)
{
    static const struct program_world ordinary;
    const char *argv[ARGS_MAX];
    va_list ap;

    va_start(ap, argument);
    arguments(argv, argument, ap);
    va_end(ap);
    return run(&ordinary, argv);
}

const char *program_record(const char *net, const char *name, const char *toggle, const char *value)
{
    const char *trace = program_path(name);
    struct program p =
        program_run("record", net, "-o", trace, "--device", "meta", toggle, value, NULL);

    if (p.status)
        fail_msg("%s %s %s: status %d: %s", net, toggle ? toggle : "", value ? value : "", p.status,
                 p.err);
    program_release(&p);
    return trace;
}

void program_release(struct program *p)
{
    free(p->out);
    free(p->err);
    p->out = p->err = NULL;
}

pid_t program_start(const char *argument, ...)
{
    static const struct program_world ordinary;
    const char *argv[ARGS_MAX];
    FILE *nowhere = fopen("/dev/null", "w");
    va_list ap;
    pid_t pid;

    assert_non_null(nowhere);
    va_start(ap, argument);
    arguments(argv, argument, ap);
    va_end(ap);
    pid = spawn(&ordinary, argv, nowhere, nowhere);
    fclose(nowhere);
    return pid;
}

/* What `expression` gives with ?1 the JSON and ?2 a path; NULL where that is NULL. Heap memory. */
static char *json_query(const char *json, const char *path, const char *expression)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    char *text = NULL;
    char sql[128];

    snprintf(sql, sizeof(sql), "select json_valid(?1), %s", expression);
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    sqlite3_bind_text(stmt, 1, json, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, path, -1, SQLITE_STATIC);
    if (sqlite3_step(stmt) != SQLITE_ROW || !sqlite3_column_int(stmt, 0))
        fail_msg("no JSON: %.300s", json);
    if (sqlite3_column_type(stmt, 1) != SQLITE_NULL)
        text = strdup((const char *)sqlite3_column_text(stmt, 1));
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return text;
}

char *json_text(const char *json, const char *path)
{
    return json_query(json, path, "json_extract(?1, ?2)");
}

void json_expect(const char *json, const char *path, const char *type)
{
    char *found = json_query(
        json, path, "replace(replace(json_type(?1, ?2), 'true', 'bool'), 'false', 'bool')");

    if (!found || strcmp(found, type) != 0)
        fail_msg("%s is %s, not %s", path, found ? found : "missing", type);
    free(found);
}

int64_t json_int(const char *json, const char *path)
{
    char *text = json_text(json, path);
    int64_t value;

    if (!text)
        fail_msg("nothing at %s in %.300s", path, json);
    value = strtoll(text, NULL, 10);
    free(text);
    return value;
}

int64_t sql_int(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t value;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sto_cell_register(db), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return value;
}

int64_t sql_try_int(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    int64_t value = 0;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sto_cell_register(db) == SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        value = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    return value;
}

static void sql_change(const char *path, int flags, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open_v2(path, &db, flags, NULL), SQLITE_OK);
    assert_int_equal(sto_cell_register(db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

void sql_create(const char *path, const char *sql)
{
    sql_change(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, sql);
}

void sql_run(const char *path, const char *sql)
{
    sql_change(path, SQLITE_OPEN_READWRITE, sql);
}
