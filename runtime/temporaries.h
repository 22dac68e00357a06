/* temporaries.h: arrays that a kernel has for itself, for the time of a launch. */
#ifndef TILEK_TEMPORARIES_H
#define TILEK_TEMPORARIES_H

#include "backend.h"

int tilek_has_temporaries(const tilek_kernel *kernel);

/* Memory for the call's temporaries, of which there are some: call->arrays becomes a copy, with their bases. All lies in *block, to be freed after
 * the launch. TILEK_UNSUPPORTED where they would take more than 256 MiB and more than four times what the kernel's other arrays take. */
tilek_status tilek_make_temporaries(const tilek_kernel *kernel, tilek_call *call, void **block, tilek_message *why);

#endif
