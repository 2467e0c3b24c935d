/*
 * tests/store/small_trace.h - a trace of two steps of a net of two layers, small enough to check by hand.
 *
 * The net (line numbers as in the source kept in the trace) leaks: every step's loss is appended to a list.
 * Block bytes: fc1.weight 4096, fc2.weight 1024, a batch 2048, fc1's and relu's results 8192 each, fc2's result 512,
 * the loss 512, gradients as their tensors. Requested bytes are 12 less each.
 */
#ifndef TESTS_STORE_SMALL_TRACE_H
#define TESTS_STORE_SMALL_TRACE_H

/* Write it to `path`, which does not exist. Fails the running test where that fails. */
void small_trace_write(const char *path);
/*
 * The same with amp=bf16 and without the leak: the relu's result has 4096 bytes, fc2 uses a temporary of 1024, x is
 * freed before the net's result, and the loss is freed at the end of each step.
 */
void small_trace_changed_write(const char *path);
/*
 * The small trace with what a GPU did: each op one kernel, of 1000 ns and 2 ns more for each op before it, two copies
 * of 250 ns in all that are of no op, and 4096 bytes of foreign memory.
 */
void small_trace_gpu_write(const char *path);

#endif
