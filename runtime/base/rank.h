/* rank.h: which of the processes of a parallel program this is, by the variables that launchers
 * (mpirun, mpiexec, srun) set. No MPI library is asked. */
#ifndef TILEK_RANK_H
#define TILEK_RANK_H

#include "tilek.h"

/* "rank 3: " for messages; empty where no launcher has started the process. */
const char *tilek_rank_prefix(void);

/* The rank among all processes of the program, -1 where there is no launcher. */
int64_t tilek_rank(void);

/* The rank among those on this machine, 0 where that is not known. */
int64_t tilek_local_rank(void);

/* How many of the `cores` that this process may use are left to it when ranks on this machine
 * divide those that they share. At least 1. */
int64_t tilek_cores_of_rank(int64_t cores);

#endif
