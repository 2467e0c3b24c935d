/*
 * tests/gpu/gpu.h - opens the device under test, and copies values to and from its memory.
 *
 * For:            the programs of this folder.
 * Must not know:  what they check.
 * Invariant:      if no device can be opened, the program ends with status 3 and the reason.
 */
#ifndef TESTS_GPU_GPU_H
#define TESTS_GPU_GPU_H

#include "engine/device/plugin.h"

/*
 * The plug-in in the folder of VRAMSCOPE_PLUGINS; without that, the one made of host memory beside the program
 * VRAMSCOPE names.
 */
void gpu_open(struct eng_device *out);

#endif
