/* cuda_graphs.c: CUDA's graphs: launches captured from a stream, and launched again all at once.
 *
 * The stream is one of its own. Queue 0 serves all threads, and whatever another thread put there
 * during a capture would become part of the graph in place of running. Streams from which nothing
 * is captured are not affected by one in thread-local mode, nor is what other threads allocate and
 * load meanwhile. */
#define _POSIX_C_SOURCE 200809L
#include "device/cuda/cuda_graphs.h"

#include <stdlib.h>

#include "base/message.h"
#include "device/cuda/cuda_program.h"

struct tilek_graph { CUgraphExec executable; };

/* Whether the device's recording stream becomes the caller's. */
static int claim(tilek_device *device)
{
    (void)pthread_mutex_lock(&device->lock);
    const int was_free = !device->recording;
    device->recording = 1;
    (void)pthread_mutex_unlock(&device->lock);
    return was_free;
}

static void unclaim(tilek_device *device)
{
    (void)pthread_mutex_lock(&device->lock);
    device->recording = 0;
    (void)pthread_mutex_unlock(&device->lock);
}

/* The context stays current until `recorded`: a stream that cannot be reached then would go on
 * capturing, and with it the thread. */
tilek_status tilek_cuda_record(tilek_device *device, tilek_message *why)
{
    CUstream stream;
    if (!device->api->has_graphs || !claim(device)) {
        tilek_say(why, !device->api->has_graphs ? "the CUDA driver has no graphs" : "another thread records launches");
        return TILEK_UNSUPPORTED;
    }
    tilek_status status = tilek_cuda_enter_queue(device, TILEK_RECORDING_QUEUE, &stream, why);
    if (status == TILEK_OK) {
        const CUresult error = device->api->graphs.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        if (error != CUDA_SUCCESS) {
            tilek_cuda_leave(device);
            status = tilek_cuda_failed(device, error, "a recording of launches began", why);
        }
    }
    if (status != TILEK_OK)
        unclaim(device);
    return status;
}

/* What the stream has captured, made executable. */
static CUresult instantiate(const tilek_cuda_graph_api *api, CUstream stream, CUgraphExec *executable)
{
    CUgraph captured = NULL;
    CUresult error = api->cuStreamEndCapture(stream, &captured); /* in any case: the stream cannot be used before */
    if (error == CUDA_SUCCESS)
        error = api->cuGraphInstantiateWithFlags(executable, captured, 0);
    if (captured != NULL)
        (void)api->cuGraphDestroy(captured);
    return error;
}

tilek_status tilek_cuda_recorded(tilek_device *device, tilek_graph **graph, tilek_message *why)
{
    CUstream stream;
    CUgraphExec executable = NULL;
    *graph = NULL;
    tilek_status status = tilek_cuda_enter_queue(device, TILEK_RECORDING_QUEUE, &stream, why);
    if (status == TILEK_OK) {
        const CUresult error = instantiate(&device->api->graphs, stream, &executable);
        tilek_graph *made = error == CUDA_SUCCESS ? malloc(sizeof *made) : NULL;
        if (error != CUDA_SUCCESS)
            status = tilek_cuda_failed(device, error, "launches were recorded", why);
        else if (made == NULL) {
            (void)device->api->graphs.cuGraphExecDestroy(executable);
            tilek_say(why, "no memory for a graph");
            status = TILEK_NO_MEMORY;
        } else {
            made->executable = executable;
            *graph = made;
        }
        tilek_cuda_leave(device);
    }
    tilek_cuda_leave(device); /* as `record` has entered it */
    unclaim(device);
    return status;
}

tilek_status tilek_cuda_play(tilek_device *device, int queue, tilek_graph *graph, tilek_message *why)
{
    CUstream stream;
    const tilek_status status = tilek_cuda_enter_queue(device, queue, &stream, why);
    if (status != TILEK_OK)
        return status;
    const CUresult error = device->api->graphs.cuGraphLaunch(graph->executable, stream);
    tilek_cuda_leave(device);
    return error == CUDA_SUCCESS ? TILEK_OK : tilek_cuda_failed(device, error, "recorded launches were played", why);
}

void tilek_cuda_forget(tilek_device *device, tilek_graph *graph)
{
    if (tilek_cuda_enter(device) == CUDA_SUCCESS) {
        (void)device->api->graphs.cuGraphExecDestroy(graph->executable);
        tilek_cuda_leave(device);
    }
    free(graph);
}
