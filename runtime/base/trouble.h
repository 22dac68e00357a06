/* trouble.h: what keeps a kernel from running as it should. */
#ifndef TILEK_TROUBLE_H
#define TILEK_TROUBLE_H

#include "base/message.h"

/* A warning, or under TILEK_STRICT an error that ends the program with status 71. */
void tilek_trouble(const char *file, int line, const char *format, ...) TILEK_PRINTF(3, 4);

#endif
