/* interruption.h: whether the calling thread is in a signal handler. */
#ifndef TILEK_INTERRUPTION_H
#define TILEK_INTERRUPTION_H

/* A handler may have interrupted the C library with its locks held: malloc and calls of a device's
 * library may wait for ever in it. This function makes no such call. It does not see a handler that
 * blocks no signal (SA_NODEFER), nor one that has interrupted code without unwind tables. */
int tilek_is_in_handler(void);

#endif
