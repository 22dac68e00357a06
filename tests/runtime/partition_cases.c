/* partition_cases.c: calls on several devices, each with a block of rows. Devices run launches at once, or as late as they may (fake.lazy): what moves
 * without waiting for those who write it, or goes over what is still read, is found out by one of the two. */
#define _POSIX_C_SOURCE 200809L
#include "arrays/row_ownership.h"
#include "kernels.h"

#include <string.h>

enum { ROWS = 60, COLUMNS = 3, STEPS = 12 };

/* ---- Each step, one of   for (i in bounds) B[scale * i + place][j] = B[…][j] * 0.5 + A[i + left][j] + A[i + right][j] + k;
 *                   and    for (i in bounds) A[scale * i + place][j] = A[…][j] * 0.5 + B[i + left][j] + B[i + right][j] + k; ------------ */

typedef struct shape { int16_t scale, place, left, right, step, k; } shape;

static const tilek_loop_shape loops[] = {{"i", 3, kinds, axes, 0, INT32_MIN, INT32_MAX}};
static const tilek_parameter parameters[] = {GANG_PARAMETERS(VALUE, NULL, NULL, NULL, NULL, NULL, "workers"), {TILEK_PARAMETER_ARRAY, 1, 0, NULL}, {TILEK_PARAMETER_ORIGIN, 1, 0, NULL}};
enum { P_OTHER = P_PARTIALS, P_OTHER_ORIGIN };

static void one_row(const shape *own, double *target, const double *source, int64_t i)
{
    for (int j = 0; j < COLUMNS; ++j) {
        double *element = &target[(own->scale * i + own->place) * COLUMNS + j];
        *element = *element * 0.5 + source[(i + own->left) * COLUMNS + j] + source[(i + own->right) * COLUMNS + j] + own->k;
    }
}

static void device(const fake_call *call, int turned)
{
    double *A = (double *)call->pointers[P_ARRAY] - call->numbers[P_ORIGIN], *B = (double *)call->pointers[P_OTHER] - call->numbers[P_OTHER_ORIGIN];
    const shape *own = call->scalars[P_VALUE];
    const bare_loop loop = {call->numbers[P_TRIP]};
    const tilek_tile tiles[] = {{0, call->numbers[P_STRIDE0]}, {0, call->numbers[P_STRIDE1]}};
    for (int64_t gang = call->gang[0]; gang < call->numbers[P_GANGS]; gang += call->groups[0])
        FOR_GANG(&loop, tiles, call->numbers[P_WORKERS])
            one_row(own, turned ? A : B, turned ? B : A, call->numbers[P_LOWER] + own->step * point);
}

static void forth_device(const fake_call *call) { device(call, 0); }
static void back_device(const fake_call *call) { device(call, 1); }

static void host(const tilek_host_call *call, int64_t first, int64_t last, int turned)
{
    double *A = call->arrays[0].base, *B = call->arrays[1].base;
    for (int64_t gang = first; gang < last; ++gang)
        FOR_GANG(call->loops[0], call->tiles[0], call->axes[TILEK_AXIS_WORKER])
            one_row(call->values[0], turned ? A : B, turned ? B : A, call->loops[0]->lower + call->loops[0]->step * point);
}

static void forth_host(const tilek_host_call *call, int64_t first, int64_t last) { host(call, first, last, 0); }
static void back_host(const tilek_host_call *call, int64_t first, int64_t last) { host(call, first, last, 1); }

static const size_t value_sizes[] = {sizeof(shape)};
#define GANG_WORKER (1u << TILEK_AXIS_GANG | 1u << TILEK_AXIS_WORKER)
static const tilek_launch_shape hosts[] = {{"forth", 1, loops, GANG_WORKER, forth_host, 0, NULL, 0, NULL, 1, value_sizes, 0}, {"back", 1, loops, GANG_WORKER, back_host, 0, NULL, 0, NULL, 1, value_sizes, 0}};
static const tilek_launch_shape devices[] = {{"forth", 1, loops, GANG_WORKER, NULL, 0, NULL, 11, parameters, 1, value_sizes, 0}, {"back", 1, loops, GANG_WORKER, NULL, 0, NULL, 11, parameters, 1, value_sizes, 0}};

void register_division_kernels(void)
{
    fake_register(&devices[0], forth_device);
    fake_register(&devices[1], back_device);
}

/* ---- Kernels, each with shapes of its own ----------------------------------------------------------------------------- */

enum { KERNELS = 40, READ = TILEK_READS | TILEK_COPY_IN, BOTH = READ | TILEK_WRITES | TILEK_COPY_OUT };

static struct own_kernel {
    tilek_kernel kernel;
    shape shapes[2];
    tilek_row_use uses[2][3];
    tilek_division divisions[2];
    void *state;
} kernels[KERNELS];

static const tilek_array_shape arrays[] = {{"A", TILEK_CONTIGUOUS, 2, sizeof(double), 1, number, BOTH}, {"B", TILEK_CONTIGUOUS, 2, sizeof(double), 1, number, BOTH}};
static const size_t scalar_sizes[] = {sizeof(unsigned), sizeof(struct own_kernel *), sizeof(int)};
static const char *const text[] = {"the fake device reads no text", NULL};
static const int64_t tile_arguments[3];

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

static int between(unsigned *seed, int least, int greatest) { return least + (int)(next(seed) % (unsigned)(greatest - least + 1)); }

static int lies_inside(const shape *own, int i)
{
    const int target = own->scale * i + own->place;
    return i + own->left >= 0 && i + own->right < ROWS && target >= 0 && target < ROWS;
}

/* The bounds of a step: iterations whose rows lie in the arrays. */
static tilek_bounds bounds_of(const shape *own, unsigned *seed)
{
    const int step = own->step, size = step < 0 ? -step : step;
    int least = 0, greatest = ROWS - 1, count;
    while (least < ROWS && !lies_inside(own, least)) ++least;
    while (greatest >= least && !lies_inside(own, greatest)) --greatest;
    least = between(seed, least, least + 2);
    greatest = between(seed, greatest - 3, greatest);
    count = greatest < least ? 0 : (greatest - least) / size + 1;
    return step > 0 ? (tilek_bounds){least, greatest + 1, step, count} : (tilek_bounds){greatest, greatest - size * count, step, count};
}

static int order(struct tilek_run *run, const tilek_call *call)
{
    unsigned seed = *(const unsigned *)call->scalars[0];
    struct own_kernel *own = *(struct own_kernel *const *)call->scalars[1];
    const int steps = *(const int *)call->scalars[2];
    for (int k = 0; k < steps; ++k) {
        const int launch = between(&seed, 0, 1);
        shape now = own->shapes[launch];
        const tilek_bounds bounds[] = {bounds_of(&now, &seed)};
        const void *const values[] = {&now};
        int stop;
        now.k = (int16_t)k;
        if ((stop = tilek_step(run, launch, bounds, values)) != 0) return stop;
    }
    return 0;
}

static void original(const struct own_kernel *own, unsigned seed, int steps, double *A, double *B)
{
    for (int k = 0; k < steps; ++k) {
        const int launch = between(&seed, 0, 1);
        shape now = own->shapes[launch];
        const tilek_bounds bounds = bounds_of(&now, &seed);
        now.k = (int16_t)k;
        for (int64_t point = 0; point < bounds.trip; ++point) one_row(&now, launch == 0 ? B : A, launch == 0 ? A : B, bounds.lower + bounds.step * point);
    }
}

/* `most`: how far neighbours may be; rows that are farther make it an array that all devices read whole. */
static struct own_kernel *make_kernel(int index, int most)
{
    struct own_kernel *own = &kernels[index];
    unsigned seed = (unsigned)index + 7;
    for (int launch = 0; launch < 2; ++launch) {
        const int source = launch, target = 1 - launch, whole = between(&seed, 0, 5) == 0;
        shape *made = &own->shapes[launch];
        made->scale = (int16_t)(between(&seed, 0, 3) == 0 ? 2 : between(&seed, 0, 4) == 0 ? -1 : 1);
        made->place = (int16_t)(made->scale < 0 ? ROWS - 1 - between(&seed, 0, 2) : between(&seed, 0, 3));
        made->left = (int16_t)between(&seed, -most, 1);
        made->right = (int16_t)between(&seed, made->left, most);
        made->step = (int16_t)(between(&seed, 0, 3) == 0 ? -1 : between(&seed, 0, 3) == 0 ? 2 : 1);
        own->uses[launch][0] = (tilek_row_use){source, TILEK_READS, 2, 1, made->left, made->right, 0};
        if (whole) own->uses[launch][0] = (tilek_row_use){source, TILEK_READS, 2, 0, INT64_MIN, INT64_MAX, 0};
        own->uses[launch][1] = (tilek_row_use){target, TILEK_READS, 2, made->scale, made->place, made->place, 0};
        own->uses[launch][2] = (tilek_row_use){target, TILEK_WRITES, 2, made->scale, made->place, made->place, 0};
        own->divisions[launch] = (tilek_division){between(&seed, 0, 6) == 0 ? -1 : 0, 3, own->uses[launch]};
        if (own->divisions[launch].loop < 0) /* whole on one device: the rows that it may touch */
            for (int use = 0; use < 3; ++use) own->uses[launch][use] = (tilek_row_use){own->uses[launch][use].array, own->uses[launch][use].access, 2, 0, INT64_MIN, INT64_MAX, 0};
    }
    own->kernel = (tilek_kernel){.abi = TILEK_ABI, .name = "divided", .file = "divided.c", .line = 3, .flags = TILEK_USES_DOUBLE | TILEK_VARYING_STEPS, .targets = 15,
                                 .preferred = TILEK_AUTO, .opencl = text, .array_count = 2, .arrays = arrays, .scalar_count = 3, .scalar_sizes = scalar_sizes,
                                 .host_launch_count = 2, .host_launches = hosts, .device_launch_count = 2, .device_launches = devices, .tile_argument_count = 3,
                                 .host_steps = order, .device_steps = order, .state = &own->state, .divisions = own->divisions};
    return own;
}

typedef struct divided_call { tilek_call call; tilek_array arrays[2]; const void *scalars[3]; struct own_kernel *own; unsigned seed; int steps; double A[ROWS * COLUMNS], B[ROWS * COLUMNS]; } divided_call;

static void make_divided(divided_call *made, struct own_kernel *own, unsigned seed, int steps)
{
    memset(made, 0, sizeof *made);
    fill(made->A, ROWS * COLUMNS);
    fill(made->B, ROWS * COLUMNS);
    made->own = own;
    made->seed = seed;
    made->steps = steps;
    made->arrays[0] = (tilek_array){.base = made->A, .length = {ROWS, COLUMNS}, .extent = {ROWS, COLUMNS}};
    made->arrays[1] = (tilek_array){.base = made->B, .length = {ROWS, COLUMNS}, .extent = {ROWS, COLUMNS}};
    made->scalars[0] = &made->seed;
    made->scalars[1] = &made->own;
    made->scalars[2] = &made->steps;
    made->call = (tilek_call){.arrays = made->arrays, .scalars = made->scalars, .tile_arguments = tile_arguments, .device = TILEK_DEVICES_ALL, .queue = -1, .enabled = 1};
}

static void check_divided(const divided_call *made)
{
    double A[ROWS * COLUMNS], B[ROWS * COLUMNS];
    fill(A, ROWS * COLUMNS);
    fill(B, ROWS * COLUMNS);
    original(made->own, made->seed, made->steps, A, B);
    CHECK(memcmp(A, made->A, sizeof A) == 0 && memcmp(B, made->B, sizeof B) == 0);
}

static void run_divided(int first, int end, int most)
{
    for (int index = first; index < end; ++index) {
        struct own_kernel *own = make_kernel(index, most);
        for (unsigned seed = 1; seed <= 6; ++seed) {
            divided_call made;
            fake.devices = 2 + (int)(seed + (unsigned)index) % 3;
            fake.lazy = seed % 2 == 0;
            make_divided(&made, own, seed * 97, STEPS);
            CHECK(tilek_launch(&own->kernel, &made.call) == 0);
            check_divided(&made);
        }
    }
}

/* ---- Tests ----------------------------------------------------------------------------------------------------------- */

void divided(void) { run_divided(0, KERNELS / 2, 3); }

/* Neighbours that lie beyond those blocks that are next. */
void divided_far(void) { run_divided(KERNELS / 2, KERNELS, 33); }

static struct own_kernel *plain_kernel(void)
{
    struct own_kernel *own = make_kernel(0, 1);
    for (int launch = 0; launch < 2; ++launch) {
        own->shapes[launch] = (shape){1, 0, -1, 1, 1, 0};
        own->uses[launch][0] = (tilek_row_use){launch, TILEK_READS, 2, 1, -1, 1, 0};
        for (int use = 1; use < 3; ++use) own->uses[launch][use] = (tilek_row_use){1 - launch, use == 1 ? TILEK_READS : TILEK_WRITES, 2, 1, 0, 0, 0};
        own->divisions[launch].loop = 0;
    }
    return own;
}

/* Of a step that lacks rows at both of its blocks' borders, the iterations inside are launched by themselves, and only the rows at the borders move. */
void divided_overlaps(void)
{
    struct own_kernel *own = plain_kernel();
    divided_call made;
    int runs, writes, reads;
    fake.devices = 2;
    own->shapes[0].step = own->shapes[1].step = 1;
    make_divided(&made, own, 5, 1);
    CHECK(tilek_launch(&own->kernel, &made.call) == 0);
    runs = fake.runs, writes = fake.writes, reads = fake.reads;
    CHECK(runs == 2);
    CHECK(fake.largest < sizeof made.A * 2 / 3); /* a device has its own rows, and those beside them */
    make_divided(&made, own, 5, STEPS);
    CHECK(tilek_launch(&own->kernel, &made.call) == 0);
    check_divided(&made);
    /* One more launch for every block that lacks a row, which is written once and read once. */
    CHECK(fake.runs - runs > 2 * STEPS && fake.runs - runs - 2 * STEPS <= fake.writes - 2 * writes && fake.writes - 2 * writes <= 2 * STEPS);
    CHECK(fake.reads > 2 * reads);
}

/* One device is enough; so are arrays that share memory for one, and a clause that names it. */
void divided_alone(void)
{
    struct own_kernel *own = plain_kernel();
    divided_call made;
    make_divided(&made, own, 5, STEPS);
    CHECK(tilek_launch(&own->kernel, &made.call) == 0 && fake.allocations == 2);
    check_divided(&made);
    fake.devices = 2;
    make_divided(&made, own, 5, STEPS);
    made.arrays[1].base = made.A;
    CHECK(tilek_launch(&own->kernel, &made.call) == 0 && fake.runs <= 2 * STEPS);
    make_divided(&made, own, 5, STEPS);
    made.call.device = 1;
    CHECK(tilek_launch(&own->kernel, &made.call) == 0 && fake.runs <= 3 * STEPS);
    check_divided(&made);
}

/* Programs are specialised for three counts of workers, which then are an argument, however many devices each is built for. */
void divided_programs(void)
{
    struct own_kernel *own = plain_kernel();
    fake.devices = 4;
    for (int64_t workers = 1; workers <= 8; ++workers) {
        divided_call made;
        make_divided(&made, own, 5, STEPS);
        made.call.axes[TILEK_AXIS_WORKER] = workers;
        CHECK(tilek_launch(&own->kernel, &made.call) == 0);
        check_divided(&made);
    }
    CHECK(fake.builds == 12 && fake.parametric == 0);
}

/* Whatever fails, and whenever: the host's data are unharmed, and cores compute what was to be computed. */
static void lose(int *countdown, int count)
{
    struct own_kernel *own = plain_kernel();
    divided_call made;
    fake.devices = 3;
    make_divided(&made, own, 5, STEPS);
    *countdown = count;
    CHECK(tilek_launch(&own->kernel, &made.call) == 0 && *countdown == 0);
    check_divided(&made);
}

void divided_scarce(void) { lose(&fake.fail_allocate, 4); }
void divided_lost_write(void) { lose(&fake.fail_write, 9); }
void divided_lost_run(void) { lose(&fake.fail_run, 11); }
void divided_lost_wait(void) { lose(&fake.fail_wait, 4); }
void divided_lost_result(void)
{
    struct own_kernel *own = plain_kernel();
    divided_call made;
    int reads;
    fake.devices = 2;
    make_divided(&made, own, 5, STEPS);
    CHECK(tilek_launch(&own->kernel, &made.call) == 0);
    reads = fake.reads;
    lose(&fake.fail_read, reads); /* the last one, of results */
}

/* In a data region the newest values come from where they are, and go where others find them. */
void divided_present(void)
{
    struct own_kernel *own = plain_kernel();
    double A[ROWS * COLUMNS], B[ROWS * COLUMNS];
    divided_call made;
    tilek_data_item items[2] = {{&arrays[0], {0}, TILEK_COPY}, {&arrays[1], {0}, TILEK_COPY}};
    fake.devices = 2;
    make_divided(&made, own, 5, STEPS);
    for (int index = 0; index < 2; ++index) items[index].array = made.arrays[index];
    tilek_data_enter("d.c", 1, 2, items);
    made.call.device = -1;
    CHECK(tilek_launch(&own->kernel, &made.call) == 0);
    made.call.device = TILEK_DEVICES_ALL;
    CHECK(tilek_launch(&own->kernel, &made.call) == 0);
    made.call.device = 0;
    CHECK(tilek_launch(&own->kernel, &made.call) == 0);
    tilek_data_exit("d.c", 2, 2, items);
    fill(A, ROWS * COLUMNS);
    fill(B, ROWS * COLUMNS);
    for (int times = 0; times < 3; ++times) original(own, 5, STEPS, A, B);
    CHECK(memcmp(A, made.A, sizeof A) == 0 && memcmp(B, made.B, sizeof B) == 0);
}

/* The table of who holds which rows against one entry a row. */
void held_rows(void)
{
    enum { COUNT = 50, FIRST = -7 };
    uint64_t plain[COUNT];
    tilek_row_ownership held;
    unsigned seed = 3;
    CHECK(tilek_ownership_start(&held, FIRST, FIRST + COUNT, 1));
    for (int row = 0; row < COUNT; ++row) plain[row] = 1;
    for (int change = 0; change < 4000; ++change) {
        const int first = between(&seed, FIRST - 3, FIRST + COUNT + 3), end = between(&seed, first - 2, FIRST + COUNT + 5);
        const uint64_t kept = (uint64_t)next(&seed) % 16, added = (uint64_t)next(&seed) % 4;
        int64_t stop = FIRST;
        CHECK(tilek_change_owners(&held, first, end, kept, added));
        for (int row = 0; row < COUNT; ++row)
            if (row + FIRST >= first && row + FIRST < end) plain[row] = (plain[row] & kept) | added;
        for (int row = 0; row < COUNT; ++row) {
            const int begins = row + FIRST == stop;
            CHECK(tilek_owners_at(&held, row + FIRST, &stop) == plain[row] && stop > row + FIRST);
            CHECK(!begins || row == 0 || plain[row] != plain[row - 1]); /* runs are as long as they can be */
        }
        CHECK(stop == FIRST + COUNT);
    }
    tilek_ownership_free(&held);
}
