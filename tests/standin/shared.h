/*
 * tests/standin/shared.h - shared by the tests of standin/: a temporary folder, stub libraries in it, and the paths of
 * the fake of PyTorch.
 */
#ifndef TESTS_STANDIN_SHARED_H
#define TESTS_STANDIN_SHARED_H

#include <stddef.h>

#include "standin/stub.h"

/* The folder, made at the first call; shared_cleanup, a group teardown of cmocka, removes it with all that is in it. */
const char *shared_folder(void);
int shared_cleanup(void **state);
/* A path in it, one of a few buffers that are used in turn. */
const char *shared_path(const char *name);
/* Write a file there; returns its path. */
const char *shared_file(const char *name, const void *bytes, size_t len);

/* The library as a file in the folder; its path. Fails the test where it cannot be made. */
const char *shared_stub_write(const struct sti_stub *stub);
/* The same, loaded, with its symbols for itself; the caller closes it. */
void *shared_stub_load(const struct sti_stub *stub);

/* The folder of a build: of $VRAMSCOPE, or build. Its fake/standin/torch/lib has the fake of PyTorch. */
const char *shared_build(void);
/* The path of the fake's library. */
const char *shared_fake_torch(void);

#endif
