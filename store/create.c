/*
 * store/create.c - see create.h.
 *
 * Must not know:  rows.
 */
#include "store/create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/db_internal.h"
#include "store/migrate.h"

/* A row of sqlite_schema. */
struct view {
    const char *name;
    const char *sql;
};

/*
 * `image`, a trace file with all tables and without views, and `views`. tools/empty_trace.c generates them at build
 * time.
 */
#include "empty_trace.inc"

/* Number of temporary names tried: other processes may be creating the same path. */
#define TEMP_NAMES_MAX 100

static char *text_join(const char *a, const char *b)
{
    size_t len = strlen(a);
    char *text = vs_alloc(len + strlen(b) + 1);

    memcpy(text, a, len);
    strcpy(text + len, b);
    return text;
}

static enum vs_status fail_exists(const char *path, struct vs_error *err)
{
    return vs_fail(
        err, VS_E_EXISTS,
        "%s: the file exists already; choose another name, or give --force to replace it", path);
}

static enum vs_status fail_errno(const char *path, struct vs_error *err)
{
    return vs_fail(err, VS_E_IO, "%s: cannot be created: %s", path, strerror(errno));
}

static enum vs_status path_check(const char *path, bool is_forced, struct vs_error *err)
{
    struct stat st;

    if (lstat(path, &st) != 0)
        return errno == ENOENT ? VS_OK : fail_errno(path, err);
    if (!is_forced)
        return fail_exists(path, err);
    if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return vs_fail(err, VS_E_IO, "%s: not a regular file; choose another name", path);
    return VS_OK;
}

/* The same messages as sto_db_fail(). */
static enum vs_status fail_write(const char *path, struct vs_error *err)
{
    if (errno == ENOSPC || errno == EDQUOT)
        return vs_fail(err, VS_E_IO,
                       "%s: the disk is full; free some space, or write to another disk", path);
    return vs_fail(err, VS_E_IO,
                   "%s: writing failed: %s; the limit on file sizes is reached (`ulimit -f`), or "
                   "the disk fails; write to another folder",
                   path, strerror(errno));
}

static bool write_all(int fd, const unsigned char *bytes, size_t len)
{
    while (len) {
        ssize_t done = write(fd, bytes, len);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        len -= (size_t)done;
    }
    return true;
}

/*
 * Create a temporary file in the folder of `path` that contains the image, with the permissions of a new file. *out is
 * NULL if no file was left behind.
 */
static enum vs_status temp_create(const char *path, char **out, struct vs_error *err)
{
    for (int i = 0; i < TEMP_NAMES_MAX; i++) {
        char end[48];
        char *temp;
        int fd;

        snprintf(end, sizeof(end), ".new-%ld-%d", (long)getpid(), i);
        temp = text_join(path, end);
        fd = open(temp, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
        if (fd >= 0) {
            bool is_written = write_all(fd, image, sizeof(image));

            *out = temp;
            is_written = close(fd) == 0 && is_written;
            return is_written ? VS_OK : fail_write(path, err);
        }
        vs_free(temp);
        if (errno != EEXIST)
            break;
    }
    return fail_errno(path, err);
}

/*
 * Remove journals that an earlier file of this name left: SQLite would apply them to the new one. The earlier file may
 * stay after all, and is damaged without a journal that has an incomplete commit, so this is undone before.
 */
static void journals_remove(const char *path)
{
    static const char *const ends[] = {"-journal", "-wal", "-shm"};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char *journal = text_join(path, ends[i]);

        if (access(journal, F_OK) == 0 && access(path, F_OK) == 0)
            sto_db_undo(path);
        unlink(journal);
        vs_free(journal);
    }
}

static enum vs_status temp_rename(const char *temp, const char *path, bool is_forced,
                                  struct vs_error *err)
{
    int rc;

    journals_remove(path);
    if (is_forced) {
        rc = rename(temp, path);
    } else {
        rc = renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE);
        if (rc != 0 &&
            (errno == EINVAL || errno == ENOSYS)) { /* the file system does not support the flag */
            rc = link(temp, path);
            if (rc == 0)
                unlink(temp);
        }
    }
    if (rc == 0)
        return VS_OK;
    return errno == EEXIST ? fail_exists(path, err) : fail_errno(path, err);
}

enum vs_status sto_create(const char *path, bool is_forced, struct vs_error *err)
{
    char *temp = NULL;
    enum vs_status st;

    st = path_check(path, is_forced, err);
    if (st)
        goto out;
    st = temp_create(path, &temp, err);
    if (st)
        goto out;
    st = temp_rename(temp, path, is_forced, err);
out:
    if (st && temp)
        unlink(temp);
    vs_free(temp);
    return st;
}

static enum vs_status view_add(const struct sto_db *db, sqlite3_stmt *stmt, const struct view *view,
                               struct vs_error *err)
{
    sqlite3_bind_text(stmt, 1, view->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, view->sql, -1, SQLITE_STATIC);
    return sto_db_run(db, stmt, err);
}

enum vs_status sto_create_views(const struct sto_db *db, struct vs_error *err)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3_int64 version = 0;
    char sql[64];
    enum vs_status st = sto_db_number(db, "PRAGMA user_version", &version, err);

    if (st || version != STO_MIGRATE_BEGUN)
        return st; /* another process created it first */
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, NULL);
    st = sto_db_prepare(db, "INSERT INTO sqlite_schema VALUES ('view', ?1, ?1, 0, ?2)", &stmt, err);
    for (size_t i = 0; !st && i < sizeof(views) / sizeof(views[0]); i++)
        st = view_add(db, stmt, &views[i], err);
    sqlite3_finalize(stmt);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0, NULL);
    snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", sto_migrate_current());
    return st ? st : sto_db_exec(db, sql, err);
}

enum vs_status sto_create_finish(const struct sto_db *db, struct vs_error *err)
{
    int version = 0;
    enum vs_status st = sto_migrate_version(db, sto_migrate_current(), &version, err);

    if (!st && version != STO_MIGRATE_BEGUN)
        return VS_OK;
    if (!st)
        st = sto_db_exec(db, "BEGIN IMMEDIATE", err);
    if (st)
        return st;
    st = sto_create_views(db, err);
    if (!st)
        st = sto_db_exec(db, "COMMIT", err);
    if (st)
        sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL,
                     NULL); /* report the first failure, not this one */
    return st;
}
