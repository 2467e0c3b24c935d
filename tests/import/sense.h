/*
 * tests/import/sense.h - checks the properties that the trace of every import must have, whatever was imported.
 */
#ifndef TESTS_IMPORT_SENSE_H
#define TESTS_IMPORT_SENSE_H

#include "import/importing.h"

/*
 * Fails the test unless blocks are numbered in order, do not overlap other live blocks, and are freed once, with the
 * size of their allocation; and unless reserved bytes are never negative. Returns the bytes reserved at the end.
 */
uint64_t sense_check(const struct imp_import *import);

#endif
