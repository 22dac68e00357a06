/* visits.h: which threads of the program are inside of the runtime, and what becomes of one that
 * does not leave it as it came: the program's end, a cancellation, a signal handler that launches,
 * exits or jumps away. */
#ifndef TILEK_VISITS_H
#define TILEK_VISITS_H

/* ADMITTED: everything may be used. LATE: the program is ending; devices, pool and queues are not
 * to be used any more, and the table of present arrays has what they held. WITHIN: the thread is
 * inside already, where a signal handler has interrupted it: no lock may be taken, and no
 * memory. */
typedef enum tilek_admission { TILEK_ADMITTED, TILEK_LATE, TILEK_WITHIN } tilek_admission;

/* What the calling thread does inside. HOST: the kernel's own code, which it may leave at any time;
 * DEVICE: calls of a device's library, which it may not. */
typedef enum tilek_phase { TILEK_PHASE_RUNTIME, TILEK_PHASE_HOST, TILEK_PHASE_DEVICE } tilek_phase;

/* What the parts of the runtime above this one do about visits. */
typedef struct tilek_visit_parts {
    void (*start)(void);             /* before a thread's first visit; calls tilek_visits_start once */
    void (*left)(tilek_phase phase); /* the calling thread has jumped out of its visit, in this phase */
    void (*thread_ends)(void);       /* the calling thread is about to end */
    void (*end_threads)(void);       /* no thread of the program is left that has been inside: ends the runtime's own */
} tilek_visit_parts;

/* Returns body(context, admission). Meanwhile the thread cannot be cancelled. Every public function
 * that keeps state works in a visit. `upper` is the same for all visits. */
int tilek_visit(const tilek_visit_parts *upper, int (*body)(void *context, tilek_admission admission), void *context);

/* Returns the phase before. */
tilek_phase tilek_visit_phase(tilek_phase phase);

/* Before exit is called inside of the runtime, on purpose. */
void tilek_visit_exits(void);

/* Whether the program is ending. */
int tilek_is_ending(void);

/* For handlers of exit: turns later visits away and waits for those of other threads, host code
 * left out. 0: a signal handler has called exit inside of the runtime, and nothing may be
 * touched. */
int tilek_visits_end(void);

/* After that: whether other threads still run host code and will use their kernels' states. */
int tilek_visits_go_on(void);

/* Whether a thread of the program has been inside and has not ended. */
int tilek_has_visitors(void);

/* In a fork's child. */
void tilek_visits_forked(void);

/* Called once, before the first visit. */
void tilek_visits_start(const tilek_visit_parts *upper);
void tilek_visits_free(void);

#endif
