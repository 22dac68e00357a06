/* interruption.c: whether the calling thread is in a signal handler. */
#define _GNU_SOURCE /* for _Unwind_GetIPInfo */
#include "base/interruption.h"

#if defined(__GNUC__) && defined(__has_include)
#if __has_include(<unwind.h>)
#define UNWINDS
#endif
#endif

#ifdef UNWINDS

#include <signal.h>
#include <string.h>
#include <unwind.h>

static _Unwind_Reason_Code look_at(struct _Unwind_Context *context, void *is_signals)
{
    int before = 0;
    (void)_Unwind_GetIPInfo(context, &before); /* the frame of what was interrupted has not called anything */
    *(int *)is_signals = before;
    return before ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* A handler runs with its signal blocked. So a thread whose mask is one that it had outside of
 * handlers is in no handler. Most threads have the same mask throughout. */
int tilek_is_in_handler(void)
{
    static __thread sigset_t calm;
    static __thread int is_known;
    sigset_t mask;
    int is_signals = 0;
    (void)sigemptyset(&mask);
    if (!is_known) (void)sigemptyset(&calm);
    is_known = 1;
    if (pthread_sigmask(SIG_SETMASK, NULL, &mask) != 0 || memcmp(&mask, &calm, sizeof mask) == 0) return 0;
    (void)_Unwind_Backtrace(look_at, &is_signals);
    if (!is_signals) calm = mask;
    return is_signals;
}

#else

int tilek_is_in_handler(void) { return 0; }

#endif
