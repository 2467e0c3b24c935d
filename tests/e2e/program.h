/*
 * tests/e2e/program.h - runs the built program and captures its output.
 */
#ifndef TESTS_E2E_PROGRAM_H
#define TESTS_E2E_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* status: exit status, or 128 + the signal. out, err: what it printed, heap memory. */
struct program {
    int status;
    char *out;
    char *err;
};

/* A folder of the test's own; program_cleanup removes it with all that is in it. */
const char *program_folder(void);
/* A path in it, one of a few buffers that are used in turn. */
const char *program_path(const char *name);
/* How many files of it are called like one of `patterns`, the shell's, blanks between. */
int program_count(const char *patterns);
void program_cleanup(void);
/* Write a file there; returns its path. */
const char *program_file(const char *name, const char *text);

/*
 * The environment in which a program is run; zero-initialised: the ordinary one.
 *
 * file_bytes   limit on the size of files, as on a full disk
 * memory_bytes limit on its memory; ignored if it is built with a sanitizer
 * stdout_path  where its results go instead of program.out
 * no_reader    its stdout is a pipe whose other end is closed
 */
struct program_world {
    uint64_t file_bytes;
    uint64_t memory_bytes;
    const char *stdout_path;
    bool no_reader;
};

/*
 * Run `vramscope` with these arguments, NULL at the end, and wait for its end (tests/wait.h). It is $VRAMSCOPE, or
 * build/vramscope.
 */
struct program program_run(const char *argument, ...);
struct program program_run_in(const struct program_world *world, const char *argument, ...);
/* Run a script with /bin/sh instead. */
struct program program_shell(const char *script);
void program_release(struct program *p);
/*
 * Record `net` without data as the trace `name`, with a toggle ("--batch", "4") or NULL; returns its path. Fails the
 * test where it fails.
 */
const char *program_record(const char *net, const char *name, const char *toggle,
                           const char *value);
/* Start it without waiting. The caller takes its wait status, with wait_child. */
pid_t program_start(const char *argument, ...);

/*
 * The value at a path of JSON ("$.peak.allocated"), as text; NULL where there is none. Heap memory. Fails the test
 * where it is no JSON.
 */
char *json_text(const char *json, const char *path);
int64_t json_int(const char *json, const char *path);
/*
 * Fails the test where the value at a path is of another type than "integer", "real", "text", "bool", "object" or
 * "array".
 */
void json_expect(const char *json, const char *path, const char *type);
/* The one value that `sql` gives on a database. */
int64_t sql_int(const char *path, const char *sql);
/* The same of a database that may not be there yet, or be written to: 0 where it cannot be asked. */
int64_t sql_try_int(const char *path, const char *sql);
/* A new database, made by `sql`. */
void sql_create(const char *path, const char *sql);
/* Run a statement that changes it. */
void sql_run(const char *path, const char *sql);

#endif
