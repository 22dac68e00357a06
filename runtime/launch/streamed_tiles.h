/* streamed_tiles.h: how many time steps and planes a launch of streamed tiles takes. */
#ifndef TILEK_LAUNCH_STREAMED_TILES_H
#define TILEK_LAUNCH_STREAMED_TILES_H

#include "device/common/backend.h"
#include "tilek.h"

/* Replaces `*degree`, the most time steps of a launch, and `*chunk`, the planes of a tile, by those
 * that are predicted to take least time on the device. Without steps or planes they stay. */
void tilek_choose_stream(const tilek_stream *stream, const tilek_limits *limits, int64_t *degree, int64_t *chunk);

#endif
