/*
 * base/temporary/folder.c - see folder.h.
 *
 * Must not know:  what is in the files.
 * Invariant:      nothing outside these folders is ever deleted, and no symbolic link is followed.
 */
#include "base/temporary/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const PREFIXES[] = {
    [VS_FOLDER_RECORD] = "vramscope-record-",
    [VS_FOLDER_WHATIF] = "vramscope-whatif-",
};
#define USES (sizeof(PREFIXES) / sizeof(PREFIXES[0]))
#define LOCK_NAME "lock"
#define DEPTH_MAX 8

static const char *folder_for_temporary(void)
{
    const char *tmp = getenv("TMPDIR");

    return tmp && *tmp == '/' ? tmp : "/tmp";
}

/* The folder `name` of `at` with all that is in it. */
static void remove_all(int at, const char *name, int depth)
{
    const int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, entry->d_name, 0) != 0 && depth < DEPTH_MAX)
            remove_all(fd, entry->d_name, depth + 1);
    }
    closedir(dir);
    unlinkat(at, name, AT_REMOVEDIR);
}

static bool is_named_so(const char *name)
{
    for (size_t i = 0; i < USES; i++)
        if (strncmp(name, PREFIXES[i], strlen(PREFIXES[i])) == 0)
            return true;
    return false;
}

/* A folder of this user whose process has ended. One without a lock file is just being created. */
static bool is_left_behind(int at, const char *name)
{
    char lock[sizeof(((struct dirent *)NULL)->d_name) + sizeof("/" LOCK_NAME)];
    struct stat st;
    bool is_free;
    int fd;

    if (!is_named_so(name) || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
        return false;
    snprintf(lock, sizeof(lock), "%s/" LOCK_NAME, name);
    fd = openat(at, lock, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return false;
    is_free = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return is_free;
}

void vs_folders_clean(void)
{
    DIR *dir = opendir(folder_for_temporary());
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL)
        if (is_left_behind(dirfd(dir), entry->d_name))
            remove_all(dirfd(dir), entry->d_name, 0);
    if (dir)
        closedir(dir);
}

/*
 * The lock is held before it has its name: another process that saw it free would take the folder away.
 */
static bool lock_make(struct vs_folder *folder)
{
    char early[VS_FOLDER_PATH_MAX + 16];
    char path[VS_FOLDER_PATH_MAX + 16];

    snprintf(early, sizeof(early), "%s/early", folder->path);
    snprintf(path, sizeof(path), "%s/" LOCK_NAME, folder->path);
    folder->lock = open(early, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return folder->lock >= 0 && flock(folder->lock, LOCK_EX | LOCK_NB) == 0 &&
           rename(early, path) == 0;
}

enum vs_status vs_folder_open(struct vs_folder *out, enum vs_folder_use use, struct vs_error *err)
{
    const char *parent = folder_for_temporary();

    memset(out, 0, sizeof(*out));
    out->lock = -1;
    vs_folders_clean();
    if (snprintf(out->path, sizeof(out->path), "%s/%sXXXXXX", parent, PREFIXES[use]) >=
            (int)sizeof(out->path) ||
        !mkdtemp(out->path)) {
        out->path[0] = '\0';
        return vs_fail(err, VS_E_IO, "%s: no folder can be made there: %s; TMPDIR names another",
                       parent, strerror(errno));
    }
    if (!lock_make(out))
        return vs_fail(err, VS_E_IO, "%s: cannot be written: %s", out->path, strerror(errno));
    return VS_OK;
}

enum vs_status vs_folder_write(const struct vs_folder *folder, const char *name, const char *text,
                               size_t len, struct vs_error *err)
{
    char path[VS_FOLDER_PATH_MAX + 256];
    FILE *file;
    bool is_written;

    snprintf(path, sizeof(path), "%s/%s", folder->path, name);
    file = fopen(path, "wb");
    is_written = file && fwrite(text, 1, len, file) == len;
    if (file && fclose(file) != 0)
        is_written = false;
    return is_written ? VS_OK
                      : vs_fail(err, VS_E_IO, "%s: cannot be written: %s", path, strerror(errno));
}

void vs_folder_release(struct vs_folder *folder)
{
    if (folder->path[0])
        remove_all(AT_FDCWD, folder->path, 0);
    if (folder->lock > 0)
        close(folder->lock);
    memset(folder, 0, sizeof(*folder));
}
