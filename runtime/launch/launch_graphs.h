/* launch_graphs.h: runs of many launches that come again as they were: their launches are recorded
 * once, and then played by one call of the device's API.
 *
 * What a run launches depends on its numbers (scalars, bounds, tile sizes, sections) and on where
 * its data lie on the device. A run whose numbers and addresses are those of an earlier one is
 * recorded while it is gone through; from then on such runs play the recording, and their steps are
 * not gone through at all. */
#ifndef TILEK_LAUNCH_GRAPHS_H
#define TILEK_LAUNCH_GRAPHS_H

#include "arrays/device_arrays.h"
#include "launch/steps.h"

/* Runs of fewer launches are left alone. Launching a graph costs the host more than launching a
 * kernel, a few times as much on drivers before constant-time launches of straight graphs (CUDA
 * 12.6), and a graph takes memory; with this many launches the gain is the greater part of them.
 * Chosen without a GPU at hand. */
enum { TILEK_LEAST_RECORDED = 8 };

typedef struct tilek_recording tilek_recording;

/* What one run does about it. All zero: nothing. */
typedef struct tilek_repetition {
    tilek_state *state;
    const tilek_device_arrays *device_arrays;
    unsigned char *key;    /* all that the run's launches depend on; NULL: it is neither recorded nor played */
    size_t bytes, known;   /* of the key, and of its part that is known before the data are on the device */
    tilek_recording *recording; /* the run's own for its time */
} tilek_repetition;

/* After tilek_run_start. Leaves zeros where recordings are of no use: the host works between the
 * launches of such a run (reductions are finished there), each launch is timed, the launches are
 * few, or the device's API has no recordings. */
void tilek_repetition_start(tilek_repetition *repetition, tilek_state *state, const tilek_device_arrays *device_arrays,
                            const tilek_run *run);

/* Whether a run with these numbers was recorded, for some addresses: the launches need not be
 * decided yet. */
int tilek_repetition_is_likely(const tilek_repetition *repetition);

/* When the data are on the device: looks for the recording of exactly this run. */
void tilek_repetition_look(tilek_repetition *repetition);

/* Whether there is one to play. Else whether one is to be made: a run that came for the second
 * time, for instance. */
int tilek_repetition_can_play(const tilek_repetition *repetition);
int tilek_repetition_is_worthwhile(const tilek_repetition *repetition, int64_t most);

/* Around launches in TILEK_RECORDING_QUEUE; `end` takes what became of them, and says whether there
 * is something to play. Where there is not, it is not tried again. Nothing has run. */
int tilek_repetition_begin(tilek_repetition *repetition);
int tilek_repetition_end(tilek_repetition *repetition, tilek_status status);

/* Queues the recorded launches. 0: none of them runs; the recording is gone, and is not made
 * again. */
int tilek_repetition_play(tilek_repetition *repetition);

/* When the run is over: `launches` that it had, 0 where they were not counted. To be called in any
 * case. */
void tilek_repetition_finish(tilek_repetition *repetition, int64_t launches);

/* At exit, before the device programs go; and in a fork's child, for which they are lost. */
void tilek_recordings_free(tilek_state *state);
void tilek_recordings_abandon(tilek_state *state);

#endif
