/*
 * tests/recording/pickle_words.h - prints the values of a pickle as text: pickles with equal values give equal text.
 *
 * For:            tests of the pickle reader; tests/oracle/pickle_cases.py writes CPython's the same way.
 * Must not know:  how a value is kept.
 */
#ifndef TESTS_STORE_PICKLE_WORDS_H
#define TESTS_STORE_PICKLE_WORDS_H

#include "base/text.h"
#include "recording/pickle.h"

void pickle_words_add(const struct rec_pickle *p, struct rec_value v, struct vs_text *out);

#endif
