/*
 * tests/skip.c - see skip.h.
 */
#include "tests/skip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

void tests_skip(const char *why, ...)
{
    char text[300];
    va_list ap;

    va_start(ap, why);
    vsnprintf(text, sizeof(text), why, ap);
    va_end(ap);
    print_message("skipped because %s\n", text); /* tools/run-tests.sh reads this line */
    skip();
}
