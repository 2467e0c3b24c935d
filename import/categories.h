/*
 * import/categories.h - what each block of a recording is: a parameter, saved for backward, a gradient, …
 *
 * For:            import/derive.c.
 * Must not know:  how phases and steps were found.
 * Invariant:      every block gets exactly one category, for its whole life; no event is added, moved or changed otherwise.
 *
 * From the stack it was allocated at, the stack it was freed at, and the phases it lived through. docs/formats/import.md has the rules.
 */
#ifndef IMP_CATEGORIES_H
#define IMP_CATEGORIES_H

#include "import/import.h"
#include "import/phases.h"
#include "import/roles.h"
#include "import/steps.h"

/* Sets the category of each allocation among the import's events. O(n log n). */
void imp_categories_fill(struct imp_import *import, const struct vs_memlist *list,
                         const struct imp_roles *roles, const struct imp_phases *phases,
                         const struct imp_steps *steps);

#endif
