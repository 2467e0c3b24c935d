/*
 * tracer/python_files.c - see python_files.h.
 *
 * Must not know:  Python.
 * Invariant:      the build generates the table from all files of tracer/python.
 */
#include "tracer/python_files.h"

struct embedded_file {
    const char *name;
    const char *text;
    size_t len;
};

#include "python_files.inc" /* made by tools/embed.sh */

#define FILE_COUNT (sizeof(embedded) / sizeof(embedded[0]))

bool trc_python_file(size_t i, struct trc_python_file *out)
{
    if (i >= FILE_COUNT)
        return false;
    *out = (struct trc_python_file){embedded[i].name, embedded[i].text, embedded[i].len};
    return true;
}
