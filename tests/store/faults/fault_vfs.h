/*
 * tests/store/faults/fault_vfs.h - SQLite's files, of which the n-th call that changes one fails, or that reads one.
 *
 * For:            tests of what a full disk or a failing one leaves.
 * Must not know:  traces.
 * Invariant:      without a fault everything is as without it, except that nothing waits for the disk.
 */
#ifndef TESTS_STORE_FAULT_VFS_H
#define TESTS_STORE_FAULT_VFS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * FULL: the disk is full (ENOSPC), from the n-th call on: what makes a file or makes one longer fails. IO: the n-th
 * call fails (EIO). SHORT: like FULL, but of a write that fails half of the bytes are written. READ: the n-th read
 * fails (EIO). READ_SHORT: it has no bytes, as where the file was cut.
 */
enum fault { FAULT_NONE, FAULT_FULL, FAULT_IO, FAULT_SHORT, FAULT_READ, FAULT_READ_SHORT };

/* Make it SQLite's default, once in a process. */
void fault_vfs_install(void);

/* From now on the n-th call fails, from 1. */
void fault_vfs_arm(enum fault fault, uint64_t n);
/* Calls since it was armed, and whether one has failed. */
uint64_t fault_vfs_calls(void);
bool fault_vfs_has_failed(void);

#endif
