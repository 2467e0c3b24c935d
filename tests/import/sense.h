/*
 * tests/import/sense.h - checks the properties that the trace of every import must have, whatever was imported.
 */
#ifndef TESTS_IMPORT_SENSE_H
#define TESTS_IMPORT_SENSE_H

#include "import/importing.h"

/*
 * Blocks are numbered as they come, lie over no other that is alive, and are freed once, as they were allocated;
 * reserved is never below 0. Fails the test otherwise. Returns what is reserved at the end.
 */
uint64_t sense_check(const struct imp_import *import);

#endif
