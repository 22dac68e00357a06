/* wavefront_queue.h: tiles of several wavefronts at once, on the pool. A tile waits for its
 * neighbours of the wavefront before, and for no others of that.
 *
 * Tile (w, c), of wavefront w and in column c, may need what tiles (w', c') with 0 <= c - c' <= w -
 * w' have done, and no others: plans say so of loops around launches (tilek_wave), and prove it. */
#ifndef TILEK_WAVEFRONT_QUEUE_H
#define TILEK_WAVEFRONT_QUEUE_H

#include "launch/steps.h"

typedef struct tilek_wavefront_queue tilek_wavefront_queue;

/* NULL where memory is exhausted. */
tilek_wavefront_queue *tilek_wavefronts_new(void);

/* Whether a step of this launch is made of tiles that can be queued. */
int tilek_wavefronts_take(const tilek_launch_shape *launch, const tilek_planned *planned);

/* Adds the step that was decided last, wavefront `number`, behind those there; 0 where there is no
 * room, or it does not follow on the last one: those there must run first. `call` holds for all of
 * them but for loops and values. */
int tilek_wavefronts_add(tilek_wavefront_queue *waves, const tilek_launch_shape *launch, const tilek_planned *planned,
                         const tilek_host_call *call, int64_t number);

/* What is queued: tiles, wavefronts, and tiles of the longest one. */
int64_t tilek_wavefronts_tiles(const tilek_wavefront_queue *waves);
int64_t tilek_wavefronts_count(const tilek_wavefront_queue *waves);
int64_t tilek_wavefronts_width(const tilek_wavefront_queue *waves);

/* Before each run of what is queued; then tilek_wavefronts_run on any number of threads, each with
 * the `context` waves, which returns when no tile is left to begin; then tilek_wavefronts_clear. */
void tilek_wavefronts_begin(tilek_wavefront_queue *waves);
void tilek_wavefronts_run(void *context, int64_t part);
void tilek_wavefronts_clear(tilek_wavefront_queue *waves);

#endif
