/*
 * standin/runtime/unknown.h - calls of functions that are not simulated, and requests for sizes that are not known.
 *
 * For:            standin/runtime/; what a user must know about a run.
 * Must not know:  what the functions do.
 * Invariant:      each is reported once, at its first call, so that a crash that follows does not lose it.
 */
#ifndef STANDIN_UNKNOWN_H
#define STANDIN_UNKNOWN_H

/* Set the file to which reports are appended as lines "PID FACT TEXT"; NULL or "": none. */
void sti_log_open(const char *path);
void sti_log(const char *fact, const char *text);

/* Report that `function` of `library` was called for a value that is not known. */
void sti_unknown_note(const char *library, const char *function);

/*
 * The target of functions that are not simulated. It has no parameters; it finds its entry in the register that
 * a stub library sets (standin/stub.h), reports it once, and returns the status by which its library refuses.
 */
void sti_unknown_function(void);

#endif
