/*
 * store/migrate.c - see migrate.h.
 *
 * Must not know:  rows.
 * Invariant:      a released step is never changed: a change of the format is a new step at the end.
 */
#include "store/migrate.h"

#include <stdio.h>

#include "store/schema.h"

static const struct sto_migrate_step all_steps[] = {
    {1, sto_schema_create}, {2, sto_schema_beside}, {3, sto_schema_devices},
    {4, sto_schema_work},   {5, sto_schema_stacks}, {6, sto_schema_chunks},
};

/* Files from this version on can be read without an upgrade: later versions only added tables, for what is new. */
#define OLDEST_READABLE 1

#define STEP_COUNT (sizeof(all_steps) / sizeof(all_steps[0]))

int sto_migrate_current(void)
{
    return all_steps[STEP_COUNT - 1].version;
}

bool sto_migrate_is_readable(int version)
{
    return version == STO_MIGRATE_BEGUN || version >= OLDEST_READABLE;
}

enum vs_status sto_migrate_version(const struct sto_db *db, int newest, int *version,
                                   struct vs_error *err)
{
    sqlite3_int64 id = 0;
    sqlite3_int64 found = 0;
    enum vs_status st;

    st = sto_db_number(db, "PRAGMA application_id", &id, err);
    if (!st)
        st = sto_db_number(db, "PRAGMA user_version", &found, err);
    if (st)
        return st;
    if (id == STO_SWEEP_APPLICATION_ID)
        return vs_fail(err, VS_E_FORMAT,
                       "%s: the results of a sweep, not a trace; `vramscope sweep %s` prints them, "
                       "`vramscope tui %s` shows them",
                       db->path, db->path, db->path);
    if (id != STO_APPLICATION_ID || found < STO_MIGRATE_BEGUN)
        return vs_fail(err, VS_E_FORMAT, "%s: an SQLite file, but not a trace of vramscope",
                       db->path);
    if (found > newest)
        return vs_fail(err, VS_E_VERSION,
                       "%s: the trace has format %lld, this vramscope reads up to format %d; use a "
                       "newer vramscope",
                       db->path, (long long)found, newest);
    *version = (int)found;
    return VS_OK;
}

static enum vs_status step_apply(const struct sto_db *db, const struct sto_migrate_step *step,
                                 struct vs_error *err)
{
    char sql[64];
    enum vs_status st;

    st = sto_db_exec(db, "BEGIN IMMEDIATE", err);
    if (st)
        return st;
    st = step->apply(db, err);
    snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", step->version);
    if (!st)
        st = sto_db_exec(db, sql, err);
    if (!st)
        st = sto_db_exec(db, "COMMIT", err);
    if (st)
        sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL,
                     NULL); /* the first failure is the one to report */
    return st;
}

enum vs_status sto_migrate_apply(const struct sto_db *db, const struct sto_migrate_step *steps,
                                 size_t count, int from, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; !st && i < count; i++)
        if (steps[i].version > from)
            st = step_apply(db, &steps[i], err);
    return st;
}

enum vs_status sto_migrate_create(const struct sto_db *db, struct vs_error *err)
{
    char sql[64];
    enum vs_status st;

    snprintf(sql, sizeof(sql), "PRAGMA application_id = %d", STO_APPLICATION_ID);
    st = sto_db_exec(db, sql, err);
    if (!st)
        st = sto_migrate_apply(db, all_steps, STEP_COUNT, 0, err);
    return st;
}

enum vs_status sto_migrate_update(const struct sto_db *db, struct vs_error *err)
{
    int version = 0;
    enum vs_status st;

    st = sto_migrate_version(db, sto_migrate_current(), &version, err);
    if (!st)
        st = sto_migrate_apply(db, all_steps, STEP_COUNT, version, err);
    return st;
}
