/* rank.c: the place of this process among those of a program that a launcher has started. */
#define _GNU_SOURCE /* sched_getaffinity */
#define _POSIX_C_SOURCE 200809L
#include "base/rank.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__) && defined(CPU_COUNT)
#define HAS_AFFINITY 1
#else
#define HAS_AFFINITY 0
#endif

/* What one launcher sets. `local_size` NULL: see slurm_local_size. `required`: set only where the
 * others mean this process. */
typedef struct launcher { const char *rank, *local_rank, *local_size, *required; } launcher;

static const launcher launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", NULL},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_SIZE", NULL},
    {"PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", NULL}, /* Hydra: MPICH and Intel MPI */
    {"PALS_RANKID", "PALS_LOCAL_RANKID", "PALS_LOCAL_SIZE", NULL},
    {"PMI_RANK", "PMI_LOCAL_RANK", "PMI_LOCAL_SIZE", NULL},
    /* a batch script has the first two as well, and is no rank */
    {"SLURM_PROCID", "SLURM_LOCALID", NULL, "SLURM_STEP_TASKS_PER_NODE"},
    {"PMIX_RANK", NULL, NULL, NULL},
    {"PMI_RANK", NULL, NULL, NULL},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int64_t world_rank = -1, local_rank, local_size = 1;
static const char *local_variable; /* that says local_rank */
static char prefix[40];

/* -1 where the text begins with no number from 0. *end: what follows. */
static int64_t read_number(const char *text, const char **end)
{
    char *after;
    long long number;
    if (text == NULL || *text < '0' || *text > '9') return -1;
    errno = 0;
    number = strtoll(text, &after, 10);
    *end = after;
    return errno == 0 && number <= INT32_MAX ? (int64_t)number : -1;
}

static int64_t value_of(const char *variable)
{
    const char *end = "";
    const int64_t value = variable != NULL ? read_number(getenv(variable), &end) : -1;
    return *end == '\0' ? value : -1;
}

/* "4(x2),3": 4 tasks on each of 2 nodes, then 3 on one. 0 where it cannot be read. */
static int64_t slurm_local_size(const char *text, int64_t node)
{
    while (text != NULL && node >= 0) {
        const char *next = "";
        const int64_t tasks = read_number(text, &next);
        int64_t nodes = 1;
        if (tasks < 0) return 0;
        if (strncmp(next, "(x", 2) == 0) {
            nodes = read_number(next + 2, &next);
            if (nodes < 1 || *next++ != ')') return 0;
        }
        if (node < nodes) return tasks;
        node -= nodes;
        text = *next == ',' ? next + 1 : NULL;
    }
    return 0;
}

static void read_launcher(void)
{
    for (size_t index = 0; index < sizeof launchers / sizeof launchers[0]; ++index) {
        const launcher *known = &launchers[index];
        const int64_t rank = value_of(known->rank), local = value_of(known->local_rank);
        int64_t size;
        if (rank < 0 || (known->local_rank != NULL && local < 0) ||
            (known->required != NULL && getenv(known->required) == NULL))
            continue;
        size = known->required != NULL ? slurm_local_size(getenv(known->required), value_of("SLURM_NODEID"))
                                       : value_of(known->local_size);
        world_rank = rank;
        (void)snprintf(prefix, sizeof prefix, "rank %lld: ", (long long)rank);
        if (local < 0) return;
        local_rank = local;
        local_variable = known->local_rank;
        if (size > local) local_size = size;
        return;
    }
}

static void find_launcher(void) { (void)pthread_once(&once, read_launcher); }

const char *tilek_rank_prefix(void)
{
    find_launcher();
    return prefix;
}

int64_t tilek_rank(void)
{
    find_launcher();
    return world_rank;
}

int64_t tilek_local_rank(void)
{
    find_launcher();
    return local_rank;
}

#if HAS_AFFINITY
/* The parent of a process; 0 where the system does not say. */
static long parent_of(long process)
{
    char path[64], text[512], *end;
    FILE *file;
    size_t length;
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", process);
    file = fopen(path, "re");
    if (file == NULL) return 0;
    length = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[length] = '\0';
    end = strrchr(text, ')'); /* the name may hold anything */
    return end != NULL && strlen(end) > 4 ? strtol(end + 4, NULL, 10) : 0;
}

/* Whether the process was started with the launcher's variable: then it belongs to this rank, such
 * as a shell around the program. */
static int is_in_rank(long process)
{
    const size_t length = strlen(local_variable);
    char path[64], *line = NULL;
    size_t room = 0;
    int is_set = 0;
    FILE *file;
    (void)snprintf(path, sizeof path, "/proc/%ld/environ", process);
    file = fopen(path, "re");
    if (file == NULL) return 0;
    while (!is_set && getdelim(&line, &room, '\0', file) > 0)
        is_set = strncmp(line, local_variable, length) == 0 && line[length] == '=';
    free(line);
    (void)fclose(file);
    return is_set;
}

/* The cores that the launcher may use, which its ranks share. */
static int64_t cores_of_launcher(int64_t cores)
{
    long process = (long)getppid();
    cpu_set_t set;
    while (process > 1 && is_in_rank(process)) process = parent_of(process);
    if (process < 1 || sched_getaffinity((pid_t)process, sizeof set, &set) != 0) return cores;
    return tilek_maximum(cores, CPU_COUNT(&set));
}
#else
static int64_t cores_of_launcher(int64_t cores) { return cores; }
#endif

/* A launcher that binds ranks to cores or sockets has divided the machine already. How many ranks
 * share this rank's cores then follows from the numbers of ranks and of cores on the machine, as if
 * every rank could use equally many. */
int64_t tilek_cores_of_rank(int64_t cores)
{
    int64_t sharing;
    find_launcher();
    if (local_size < 2) return cores;
    sharing = tilek_ceiling_quotient(local_size * cores, cores_of_launcher(cores));
    return tilek_maximum(cores / sharing + (local_rank % sharing < cores % sharing), 1);
}
