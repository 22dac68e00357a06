/* Sizes and blocks of the slides' programs, which are asked for when a program starts: one program serves all. */
#ifndef METAFORK_H
#define METAFORK_H

#include "../../suite/kernels/suite.h"

int polybench_size(const char *name);

#define N polybench_size("N")
#define STEPS polybench_size("STEPS")
#define B polybench_size("B")
#define D polybench_size("D")
#define E polybench_size("E")
#define BLOCKS(n, b) (((n) + (b) - 1) / (b))

#endif
