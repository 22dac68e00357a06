/* streamed_tiles.h: how many time steps and planes a launch of streamed tiles takes. */
#ifndef TILEK_LAUNCH_STREAMED_TILES_H
#define TILEK_LAUNCH_STREAMED_TILES_H

#include "device/common/backend.h"
#include "tilek.h"

/* Time steps of a launch, planes of a tile, and lengths of its sides with their halos. */
typedef struct tilek_stream_sizes { int64_t degree, chunk, lengths[2]; } tilek_stream_sizes;

/* Replaces `sizes`, the most time steps of a launch and the defaults, by those that are predicted
 * to take least time on the device. Without steps or planes they stay. */
void tilek_choose_stream(const tilek_stream *stream, const tilek_limits *limits, tilek_stream_sizes *sizes);

#endif
