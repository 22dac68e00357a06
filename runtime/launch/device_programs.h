/* device_programs.h: device programs of a kernel, kept in memory. */
#ifndef TILEK_DEVICE_PROGRAMS_H
#define TILEK_DEVICE_PROGRAMS_H

#include "arrays/device_arrays.h"
#include "launch/launch_geometry.h"

/* The value of a parameter that is a number; other kinds are no numbers. `sizes` are the kernel's
 * tile sizes. */
int64_t tilek_number_of(const tilek_parameter *parameter, const tilek_device_arrays *device_arrays,
                        const tilek_geometry *geometry, const int64_t *sizes);

/* Per parameter of an entry point whether it is an argument although it could be a constant; NULL:
 * none is, or the program is not specialised. */
const unsigned char *tilek_passed(const tilek_device_program *built, const tilek_variant *variant, int launch);

/* The program of a variant for this call's numbers: per launch one a parameter, of which those
 * count that may be constants; NULL for a launch that no step meets (a specialised program lacks
 * its entry). Specialised where that is wanted, possible, and the kernel has not been specialised
 * too often already; a number that has changed twice between compilations is an argument of later
 * programs. A device runs one variant only. Built at first need. It lives until exit. */
tilek_status tilek_program_for(tilek_state *state, const tilek_variant *variant, const tilek_place *place,
                               const int64_t *const *numbers, const tilek_device_program **built, tilek_message *why);

/* At exit, when none runs any more; and in a fork's child, which cannot use its parent's. */
void tilek_programs_drop(tilek_state *state);
void tilek_programs_abandon(tilek_state *state);

#endif
