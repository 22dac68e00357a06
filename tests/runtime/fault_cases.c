/* fault_cases.c: a program that uses all of a device: copies, shared memory, data regions, reductions, queues, rows, graphs and several devices. One call of the
 * device fails, the FAKE_FAIL-th; results are right all the same. */
#define _POSIX_C_SOURCE 200809L
#include "kernels.h"

#include <string.h>

enum { N = 300, ROWS = 5, COLUMNS = 31 };

static double A[N], B[N];

static const tilek_array_shape shape = {"A", TILEK_CONTIGUOUS, 1, sizeof(double), 1, number, TILEK_READS | TILEK_WRITES};

static tilek_data_item item(double *base, int64_t lower, int64_t length, tilek_motion motion)
{
    return (tilek_data_item){&shape, {.base = base, .lower = {lower}, .length = {length}, .extent = {N}}, motion};
}

static void regions(const tilek_kernel *scale, const tilek_kernel *sum)
{
    const tilek_data_item whole = item(A, 0, N, TILEK_COPY), self = item(A, 10, 20, TILEK_UPDATE_SELF), device = item(A, 10, 20, TILEK_UPDATE_DEVICE);
    double total = 0.5, wanted = 0.5;
    scale_call call;
    fill(A, N);
    tilek_data_enter("f.c", 1, 1, &whole);
    make_call(&call, A, N, 0, N, NULL);
    for (int step = 0; step < 2; ++step) (void)launch_scale(scale, &call);
    tilek_data_update("f.c", 2, 1, &self, -1);
    for (int i = 10; i < 30; ++i) CHECK(A[i] == ((double)i * 3 + 1) * 3 + 1); /* the others may be the host's or not */
    tilek_data_update("f.c", 3, 1, &device, -1);
    make_call(&call, A, N, 3, N - 3, &total);
    (void)launch_scale(sum, &call);
    tilek_data_exit("f.c", 4, 1, &whole);
    check_scaled(A, N, 0, N, 3, 2);
    for (int i = 3; i < N; ++i) wanted += A[i];
    CHECK(total == wanted);
}

static void queues(const tilek_kernel *scale)
{
    const int64_t both[] = {1, TILEK_QUEUE_DEFAULT};
    fill(B, N);
    for (int step = 0; step < 4; ++step) {
        scale_call call;
        make_call(&call, B, N, 0, N, NULL);
        call.call.queue = step % 2 ? 1 : TILEK_QUEUE_DEFAULT;
        call.call.waits = both;
        call.call.wait_count = 2;
        (void)launch_scale(scale, &call);
    }
    tilek_wait(2, both);
    check_scaled(B, N, 0, N, 3, 4);
}

static void rows(void)
{
    static double cells[ROWS][COLUMNS];
    double *R[ROWS];
    scale_call call;
    for (int i = 0; i < ROWS; ++i) fill(R[i] = cells[i], COLUMNS);
    make_rows_call(&call, R, ROWS, 2, COLUMNS - 3);
    if (tilek_launch(&rows_kernel, &call.call) != 0) {
        for (int i = 0; i < ROWS; ++i)
            for (int j = 2; j < COLUMNS - 1; ++j) R[i][j] += 3;
        tilek_complete(&rows_kernel, &call.call);
    }
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLUMNS; ++j) CHECK(R[i][j] == j + (j >= 2 && j < COLUMNS - 1 ? 3 : 0));
}

void every_call(void)
{
    const char *kind = getenv("FAKE_KIND"), *failing = getenv("FAKE_FAIL");
    const int processor = kind != NULL && strcmp(kind, "processor") == 0;
    const tilek_kernel *scale = processor ? &processor_scale_kernel : &scale_kernel, *sum = processor ? &processor_sum_kernel : &sum_kernel;
    scale_call call;
    fake.is_gpu = !processor;
    fake.shares_memory = processor;
    fake.devices = kind != NULL && strcmp(kind, "several") == 0 ? 3 : 1;
    fake.fail_call = failing != NULL ? atoi(failing) : 0;
    register_graph_kernels();
    fill(A, N);
    make_call(&call, A, N, 5, N - 9, NULL);
    (void)launch_scale(scale, &call);
    check_scaled(A, N, 5, N - 9, 3, 1);
    make_call(&call, A, N, 5, N - 10, NULL); /* another program */
    fill(A, N);
    if (fake.devices > 1) call.call.device = TILEK_DEVICES_ALL;
    (void)launch_scale(scale, &call);
    check_scaled(A, N, 5, N - 10, 3, 1);
    fill(A, N);
    make_call(&call, A, N, 0, N, NULL);
    (void)launch_scale(&twice_kernel, &call);
    check_scaled(A, N, 0, N, 3, 2);
    regions(scale, sum);
    queues(scale);
    rows();
    graphs_anyhow();
    (void)printf("%d\n", fake.calls);
}
