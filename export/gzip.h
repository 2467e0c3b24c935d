/*
 * export/gzip.h - a stream that compresses what is written to it.
 *
 * For:            exports whose file ends with .gz.
 * Must not know:  what is written.
 * Invariant:      the file is whole once the stream has been closed without a failure.
 */
#ifndef EXP_GZIP_H
#define EXP_GZIP_H

#include <stdio.h>

#include "base/attr.h"

/*
 * What is written to the stream comes out in `to` as gzip; `to` is borrowed and stays open. fclose writes the end, and fails where
 * `to` could not be written. NULL: no stream could be made (errno).
 */
FILE *exp_gzip_open(FILE *to) VS_MUST_USE;

#endif
