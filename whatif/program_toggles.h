/*
 * whatif/program_toggles.h - which toggles can be applied from outside to a program that trains with PyTorch.
 *
 * For:            `vramscope record` of a program; what-ifs of one.
 * Must not know:  how they are applied (tracer/python/vramscope_toggles.py).
 */
#ifndef WIF_PROGRAM_TOGGLES_H
#define WIF_PROGRAM_TOGGLES_H

#include "base/toggle.h"

/*
 * Why this value of a toggle cannot be applied to any program; static text. NULL: it can, unless the script has no
 * place for it, which its run says (`refused` in `meta`).
 */
const char *wif_program_refusal(enum vs_toggle toggle, const char *value);

#endif
