/*
 * tests/store/faults/fault_vfs.c - see fault_vfs.h.
 *
 * Must not know:  traces.
 *
 * What counts as a call: writing, cutting, syncing, creating and deleting a file; or, of faults of reading, a read.
 */
#include "tests/store/faults/fault_vfs.h"

#include <string.h>

#include <sqlite3.h>

/* An open file: SQLite's own follows it in memory. */
struct file {
    sqlite3_file base;
    sqlite3_file *real;
};

static sqlite3_vfs *real_vfs;
static sqlite3_vfs vfs;
static sqlite3_io_methods methods;
static enum fault armed;
static uint64_t armed_at;
static uint64_t calls;
static bool has_failed;

static sqlite3_file *real_of(sqlite3_file *file)
{
    return ((struct file *)file)->real;
}

static bool is_of_reads(void)
{
    return armed == FAULT_READ || armed == FAULT_READ_SHORT;
}

/* Count a call that changes a file; whether it fails. takes_space: bytes of the disk that were free before. */
static bool fails(bool takes_space)
{
    bool now;

    if (is_of_reads())
        return false;
    calls++;
    now = armed == FAULT_IO ? calls == armed_at : armed && takes_space && calls >= armed_at;
    has_failed |= now;
    return now;
}

static int code(int io_code)
{
    return armed == FAULT_FULL ? SQLITE_FULL : io_code;
}

static int file_close(sqlite3_file *file)
{
    return real_of(file)->pMethods->xClose(real_of(file));
}

static int file_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 at)
{
    const bool now = is_of_reads() && ++calls == armed_at;

    has_failed |= now;
    if (now && armed == FAULT_READ)
        return SQLITE_IOERR_READ;
    if (!now)
        return real_of(file)->pMethods->xRead(real_of(file), bytes, count, at);
    memset(bytes, 0, (size_t)count);
    return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 at)
{
    sqlite3_file *real = real_of(file);
    sqlite3_int64 size = 0;

    real->pMethods->xFileSize(real, &size);
    if (!fails(at + count > size))
        return real->pMethods->xWrite(real, bytes, count, at);
    if (armed == FAULT_SHORT && count > 1)
        real->pMethods->xWrite(real, bytes, count / 2, at);
    return code(SQLITE_IOERR_WRITE);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    return fails(false) ? code(SQLITE_IOERR_TRUNCATE)
                        : real_of(file)->pMethods->xTruncate(real_of(file), size);
}

/* Nothing waits for the disk: the file is read by the same system. */
static int file_sync(sqlite3_file *file, int flags)
{
    (void)file;
    (void)flags;
    return fails(false) ? code(SQLITE_IOERR_FSYNC) : SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *out)
{
    return real_of(file)->pMethods->xFileSize(real_of(file), out);
}

static int file_lock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int file_unlock(sqlite3_file *file, int level)
{
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int file_check_lock(sqlite3_file *file, int *out)
{
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), out);
}

static int file_control(sqlite3_file *file, int op, void *arg)
{
    return real_of(file)->pMethods->xFileControl(real_of(file), op, arg);
}

static int file_sector(sqlite3_file *file)
{
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int file_character(sqlite3_file *file)
{
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static int vfs_open(sqlite3_vfs *self, const char *name, sqlite3_file *file, int flags,
                    int *out_flags)
{
    struct file *own = (struct file *)file;
    int rc;

    (void)self;
    own->base.pMethods = NULL;
    if (flags & SQLITE_OPEN_CREATE && fails(true))
        return code(SQLITE_CANTOPEN);
    own->real = (sqlite3_file *)(own + 1);
    rc = real_vfs->xOpen(real_vfs, name, own->real, flags, out_flags);
    if (rc == SQLITE_OK)
        own->base.pMethods = &methods;
    return rc;
}

static int vfs_delete(sqlite3_vfs *self, const char *name, int sync_folder)
{
    (void)self;
    (void)sync_folder;
    return fails(false) ? code(SQLITE_IOERR_DELETE) : real_vfs->xDelete(real_vfs, name, 0);
}

void fault_vfs_install(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    methods = (sqlite3_io_methods){
        .iVersion = 1,
        .xClose = file_close,
        .xRead = file_read,
        .xWrite = file_write,
        .xTruncate = file_truncate,
        .xSync = file_sync,
        .xFileSize = file_size,
        .xLock = file_lock,
        .xUnlock = file_unlock,
        .xCheckReservedLock = file_check_lock,
        .xFileControl = file_control,
        .xSectorSize = file_sector,
        .xDeviceCharacteristics = file_character,
    };
    vfs = *real_vfs;
    vfs.zName = "faults";
    vfs.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
    vfs.xOpen = vfs_open;
    vfs.xDelete = vfs_delete;
    sqlite3_vfs_register(&vfs, 1);
}

void fault_vfs_arm(enum fault fault, uint64_t n)
{
    armed = fault;
    armed_at = n;
    calls = 0;
    has_failed = false;
}

uint64_t fault_vfs_calls(void)
{
    return calls;
}

bool fault_vfs_has_failed(void)
{
    return has_failed;
}
