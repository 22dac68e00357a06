/* program.h: device programs of a kernel, kept in memory. */
#ifndef TILEK_PROGRAM_H
#define TILEK_PROGRAM_H

#include "numbers.h"
#include "residence.h"

/* The value of a parameter that is a number; other kinds are no numbers. */
int64_t tilek_number_of(const tilek_parameter *parameter, const tilek_residence *residence, const tilek_numbers *numbers);

/* The program for this call's numbers (one tilek_numbers a device launch): specialised where that is wanted, possible, and the
 * kernel has not been specialised too often already. Built at first need. It lives until exit. */
tilek_status tilek_program_for(tilek_state *state, const tilek_residence *residence, const tilek_numbers *numbers, const tilek_built **built, tilek_message *why);

#endif
