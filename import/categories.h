/*
 * import/categories.h - determines the category of each block of a recording: parameter, saved for backward, gradient,
 * …
 *
 * For:            import/derive.c.
 * Must not know:  how phases and steps were determined.
 * Invariant:      every block has exactly one category, for its whole lifetime; events are not added, moved or
 *                 otherwise changed.
 *
 * Derived from the stack of the allocation, the stack of the free, and the phases in between. docs/formats/import.md
 * lists the rules.
 */
#ifndef IMP_CATEGORIES_H
#define IMP_CATEGORIES_H

#include "import/import.h"
#include "import/phases.h"
#include "import/roles.h"
#include "import/steps.h"

/* Set the category of each allocation among the import's events. O(n log n). */
void imp_categories_fill(struct imp_import *import, const struct vs_memlist *list,
                         const struct imp_roles *roles, const struct imp_phases *phases,
                         const struct imp_steps *steps);

#endif
