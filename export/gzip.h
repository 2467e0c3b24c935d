/*
 * export/gzip.h - a stdio stream that compresses the data written to it.
 *
 * For:            exports to files whose names end with .gz.
 * Must not know:  the contents of the data.
 * Invariant:      the file is complete once fclose on the stream has succeeded.
 */
#ifndef EXP_GZIP_H
#define EXP_GZIP_H

#include <stdio.h>

#include "base/attr.h"

/*
 * Open a stream whose data is written to `to` in gzip format. `to` is borrowed and stays open. fclose on the stream
 * writes the trailer, and fails if `to` could not be written. NULL: the stream could not be created; errno says why.
 */
FILE *exp_gzip_open(FILE *to) VS_MUST_USE;

#endif
