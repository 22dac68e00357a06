/* interruption.h: whether the calling thread is in a signal handler. */
#ifndef TILEK_INTERRUPTION_H
#define TILEK_INTERRUPTION_H

/* A handler may have interrupted the C library with its locks held: malloc and a device's library may wait for ever there. Needs neither. Not seen: a handler that blocks no signal
 * (SA_NODEFER), and one below code without tables for unwinding. */
int tilek_is_in_handler(void);

#endif
