/* graphs.c: launches captured from a stream and played again: what libcuda has had since 11.4.
 *
 * A capture keeps each launch with copies of its parameters, and runs none. While a thread captures, what CUDA forbids it (allocations, loading of modules, and waits
 * and copies on the stream, from any thread) fails and spoils the capture. */
#define _GNU_SOURCE
#include "standin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct kept { CUfunction function; standin_index grid, block; void **parameters; struct kept *next; } kept;

struct CUgraph_st { kept *first, **end; int users; }; /* users: itself, until it is destroyed, and executable graphs */
typedef struct CUgraphExec_st { CUgraph graph; int playing; struct CUgraphExec_st *next; } *CUgraphExec;

int standin_recorded, standin_played;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUgraphExec executables;
static __thread CUstream own; /* that the calling thread captures from */

/* ---- Captures ---------------------------------------------------------------------------------------------------- */

int standin_capture_forbids(CUstream stream)
{
    CUstream forbidding = stream != NULL ? stream : own;
    if (forbidding == NULL || forbidding->capturing == NULL)
        return STANDIN_SUCCESS;
    forbidding->spoiled = 1;
    return STANDIN_CAPTURE_UNSUPPORTED;
}

static void free_kept(kept *one)
{
    for (int k = 0; one->parameters != NULL && one->function->kernel.sizes[k] != 0; ++k)
        free(one->parameters[k]);
    free(one->parameters);
    free(one);
}

static int copy_parameters(kept *made, void **parameters)
{
    const unsigned long *sizes = made->function->kernel.sizes;
    size_t count = 0;
    while (sizes[count] != 0)
        ++count;
    made->parameters = calloc(count + 1, sizeof *made->parameters);
    for (size_t k = 0; made->parameters != NULL && k < count; ++k) {
        made->parameters[k] = malloc(sizes[k]);
        if (made->parameters[k] == NULL)
            return 0;
        memcpy(made->parameters[k], parameters[k], sizes[k]);
    }
    return made->parameters != NULL;
}

int standin_capture(CUstream stream, CUfunction function, standin_index grid, standin_index block, void **parameters)
{
    kept *made = calloc(1, sizeof *made);
    if (made == NULL)
        return STANDIN_OUT_OF_MEMORY;
    made->function = function;
    made->grid = grid;
    made->block = block;
    if (!copy_parameters(made, parameters)) {
        free_kept(made);
        return STANDIN_OUT_OF_MEMORY;
    }
    *stream->capturing->end = made;
    stream->capturing->end = &made->next;
    return STANDIN_SUCCESS;
}

int standin_graphs(CUmodule module)
{
    int count = 0;
    (void)pthread_mutex_lock(&lock);
    for (CUgraphExec at = executables; at != NULL; at = at->next) {
        int has = module == NULL;
        for (const kept *one = at->graph->first; one != NULL; one = one->next)
            has |= one->function->module == module;
        count += has;
    }
    (void)pthread_mutex_unlock(&lock);
    return count;
}

/* ---- The driver's calls ------------------------------------------------------------------------------------------ */

#ifndef STANDIN_WITHOUT_GRAPHS

static void release(CUgraph graph)
{
    (void)pthread_mutex_lock(&lock);
    const int left = --graph->users;
    (void)pthread_mutex_unlock(&lock);
    if (left > 0)
        return;
    for (kept *one = graph->first, *next; one != NULL; one = next) {
        next = one->next;
        free_kept(one);
    }
    free(graph);
}

/* Of CUstreamCaptureMode, THREAD_LOCAL alone. */
STANDIN_EXPORT int cuStreamBeginCapture_v2(CUstream stream, int mode)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    const int error = standin_not_ready();
    if (error != STANDIN_SUCCESS || stream == NULL || mode != 1 || stream->capturing != NULL || own != NULL)
        return error != STANDIN_SUCCESS ? error : STANDIN_INVALID_VALUE;
    if (standin_fails("capture"))
        return STANDIN_CAPTURE_UNSUPPORTED;
    stream->capturing = calloc(1, sizeof *stream->capturing);
    if (stream->capturing == NULL)
        return STANDIN_OUT_OF_MEMORY;
    stream->capturing->end = &stream->capturing->first;
    stream->capturing->users = 1;
    stream->spoiled = 0;
    own = stream;
    return STANDIN_SUCCESS;
}

STANDIN_EXPORT int cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    *graph = NULL;
    if (stream == NULL || stream->capturing == NULL || own != stream)
        return STANDIN_INVALID_VALUE;
    CUgraph ended = stream->capturing;
    stream->capturing = NULL;
    own = NULL;
    if (stream->spoiled || standin_fails("endcapture") || standin_fails("any")) { /* the capture ends all the same */
        release(ended);
        return STANDIN_CAPTURE_INVALIDATED;
    }
    *graph = ended;
    return STANDIN_SUCCESS;
}

STANDIN_EXPORT int cuGraphDestroy(CUgraph graph)
{
    release(graph);
    return STANDIN_SUCCESS;
}

STANDIN_EXPORT int cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph, unsigned long long flags)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    const int error = standin_not_ready();
    *executable = NULL;
    if (error != STANDIN_SUCCESS || flags != 0 || graph == NULL)
        return error != STANDIN_SUCCESS ? error : STANDIN_INVALID_VALUE;
    CUgraphExec made = standin_fails("graph") ? NULL : calloc(1, sizeof *made);
    if (made == NULL)
        return STANDIN_OUT_OF_MEMORY;
    (void)pthread_mutex_lock(&lock);
    made->graph = graph;
    ++graph->users;
    made->next = executables;
    executables = made;
    ++standin_recorded;
    (void)pthread_mutex_unlock(&lock);
    *executable = made;
    return STANDIN_SUCCESS;
}

STANDIN_EXPORT int cuGraphExecDestroy(CUgraphExec executable)
{
    (void)pthread_mutex_lock(&lock);
    CUgraphExec *link = &executables;
    while (*link != NULL && *link != executable)
        link = &(*link)->next;
    const int known = *link != NULL && !executable->playing;
    if (known)
        *link = executable->next;
    (void)pthread_mutex_unlock(&lock);
    if (!known)
        return STANDIN_INVALID_VALUE;
    release(executable->graph);
    free(executable);
    return STANDIN_SUCCESS;
}

/* Two threads may not play one graph at once. */
STANDIN_EXPORT int cuGraphLaunch(CUgraphExec executable, CUstream stream)
{
    if (standin_fails("any"))
        return STANDIN_UNKNOWN;
    const int error = standin_not_ready();
    if (error != STANDIN_SUCCESS || stream == NULL || stream->capturing != NULL)
        return error != STANDIN_SUCCESS ? error : STANDIN_INVALID_VALUE;
    if (standin_fails("play"))
        return STANDIN_OUT_OF_MEMORY;
    (void)pthread_mutex_lock(&lock);
    const int was_playing = executable->playing;
    executable->playing = 1;
    standin_played += !was_playing;
    (void)pthread_mutex_unlock(&lock);
    if (was_playing)
        return STANDIN_INVALID_VALUE;
    for (const kept *one = executable->graph->first; one != NULL; one = one->next)
        standin_launch(one->function, one->grid, one->block, one->parameters);
    (void)pthread_mutex_lock(&lock);
    executable->playing = 0;
    (void)pthread_mutex_unlock(&lock);
    return STANDIN_SUCCESS;
}

#endif
