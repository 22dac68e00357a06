/* own_threads.h: the threads that the runtime makes, and signals, which are the program's. */
#ifndef TILEK_OWN_THREADS_H
#define TILEK_OWN_THREADS_H

#include <pthread.h>
#include <signal.h>

/* Marks the calling thread as one of the runtime's own; asks whether it is. */
void tilek_mark_own_thread(void);
int tilek_is_own_thread(void);

/* Starts a thread of the runtime's own: no signals of the program are delivered there, and its
 * stack is as large as TILEK_STACKSIZE says. Returns whether it was started. */
int tilek_thread_create(pthread_t *thread, void *(*body)(void *argument), void *argument);

/* Blocks all signals of the calling thread but those that it causes itself; *before is the mask to
 * restore. */
void tilek_signals_block(sigset_t *before);
void tilek_signals_restore(const sigset_t *before);

#endif
