/* cuda_graphs.h: recorded launches on CUDA. Internal. */
#ifndef TILEK_CUDA_GRAPHS_H
#define TILEK_CUDA_GRAPHS_H

#include "device/common/backend.h"

/* The backend's functions of these names (backend.h). */
tilek_status tilek_cuda_record(tilek_device *device, tilek_message *why);
tilek_status tilek_cuda_recorded(tilek_device *device, tilek_graph **graph, tilek_message *why);
tilek_status tilek_cuda_play(tilek_device *device, int queue, tilek_graph *graph, tilek_message *why);
void tilek_cuda_forget(tilek_device *device, tilek_graph *graph);

#endif
