/*
 * store/create.c - an empty trace at a path.
 *
 * For:            store/create.h says.
 * Must not know:  rows.
 * Invariant:      as in the header.
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

/* Names tried before giving up: others may be at work on the same path. */
#define TEMP_TRIES 100

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
    return vs_fail(err, VS_E_EXISTS,
                   "%s: there is a file already; choose another name, or say --force to replace it",
                   path);
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

/* In the words of sto_db_fail. */
static enum vs_status fail_write(const char *path, struct vs_error *err)
{
    if (errno == ENOSPC || errno == EDQUOT)
        return vs_fail(err, VS_E_IO, "%s: the disk is full; make room, or write to another disk",
                       path);
    return vs_fail(err, VS_E_IO,
                   "%s: no more can be written to it: %s; files may not be larger here (`ulimit "
                   "-f`), or the disk fails; write to another place",
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

/* A file of our own beside `path` that holds `image`, with the rights that a new file gets. *out is NULL where none is left behind. */
static enum vs_status temp_create(const char *path, const unsigned char *image, size_t len,
                                  char **out, struct vs_error *err)
{
    for (int i = 0; i < TEMP_TRIES; i++) {
        char end[48];
        char *temp;
        int fd;

        snprintf(end, sizeof(end), ".new-%ld-%d", (long)getpid(), i);
        temp = text_join(path, end);
        fd = open(temp, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
        if (fd >= 0) {
            bool is_written = write_all(fd, image, len);

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
 * The bytes of an empty trace; *out is the caller's, by sqlite3_free. Made in memory, so that the file is there for as long as one write takes:
 * who is killed in between leaves it behind.
 */
static enum vs_status image_make(const char *path, unsigned char **out, size_t *len,
                                 struct vs_error *err)
{
    struct sto_db db = {NULL, path};
    sqlite3_int64 bytes = 0;
    enum vs_status st = VS_OK;

    if (sqlite3_open_v2(":memory:", &db.handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        st = sto_db_fail(&db, err);
    if (!st)
        st = sto_db_exec(&db, "PRAGMA page_size = 4096", err);
    if (!st)
        st = sto_migrate_create(&db, err);
    if (!st)
        *out = sqlite3_serialize(db.handle, "main", &bytes, 0);
    if (!st && !*out)
        st = vs_fail(err, VS_E_IO, "%s: cannot be created: no memory for it", path);
    *len = (size_t)bytes;
    sto_db_close(&db);
    return st;
}

/* Journals of a file that was here once would be taken for ours. */
static void journals_remove(const char *path)
{
    static const char *const ends[] = {"-journal", "-wal", "-shm"};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char *journal = text_join(path, ends[i]);

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
        if (rc != 0 && (errno == EINVAL || errno == ENOSYS)) { /* a file system without that flag */
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
    unsigned char *image = NULL;
    char *temp = NULL;
    size_t len = 0;
    enum vs_status st;

    st = path_check(path, is_forced, err);
    if (st)
        goto out;
    st = image_make(path, &image, &len, err);
    if (st)
        goto out;
    st = temp_create(path, image, len, &temp, err);
    if (st)
        goto out;
    st = temp_rename(temp, path, is_forced, err);
out:
    if (st && temp)
        unlink(temp);
    sqlite3_free(image);
    vs_free(temp);
    return st;
}
