/* Pointers to rows, structs and arrays that functions get, or that iterations have each for themselves. */
#include "check.h"

static double **rows_of(int rows, int columns)
{
    double **const made = check_allocate(rows, sizeof *made);
    made[0] = check_doubles((size_t)rows * columns);
    for (int r = 1; r < rows; r++)
        made[r] = made[r - 1] + columns;
    return made;
}

static void free_rows(double **rows)
{
    free(rows[0]);
    free(rows);
}

// case rows_in_function: functions index pointers to rows themselves, pass rows and tables on, and move along both
static double squares(const double *a, const double *b, int m)
{
    double sum = 0;
    for (int c = 0; c < m; c++)
        sum += (a[c] - b[c]) * (a[c] - b[c]);
    return sum;
}

static int nearest(const double *point, double **table, int rows, int columns)
{
    int best = 0;
    for (int r = 1; r < rows; r++)
        if (squares(point, table[r], columns) < squares(point, *(table + best), columns))
            best = r;
    return best;
}

static double corner(const double *const *p, int rows, int m) { return p[rows - 1][m - 1] + **p + *(*p + 1); }

static double from_second(double *const *restrict p, int rows, int columns)
{
    double *const *const rest = p + 1;
    const double *const row = rest[rows - 2];
    return row[columns - 1] + corner((const double *const *)rest, rows - 1, columns);
}

static void add_to_row(double **p, int r, int columns, double value)
{
    double *const row = p[r];
    for (int c = 0; c < columns; c++)
        row[c] += value;
}

CASE(rows_in_function)
{
    enum { N = 41, ROWS = 6, COLUMNS = 5 };
    double **const points = rows_of(N, COLUMNS), **const table = rows_of(ROWS, COLUMNS), **const out = rows_of(N, 3);
    int found[N];
#pragma tilek kernel independent data(points[0:N][0:COLUMNS], table[0:ROWS][0:COLUMNS], out[0:N][0:3], found[0:N])
    for (int i = 0; i < N; i++) {
        found[i] = nearest(points[i], table, ROWS, COLUMNS);
        add_to_row(out, i, 3, from_second(table, ROWS, COLUMNS) + corner((const double *const *)&points[i], 1, COLUMNS));
    }
#pragma tilek kernel independent data(table[2:ROWS-2][1:COLUMNS-1], out[4:N-4][0:3])
    for (int i = 4; i < N; i++)
        out[i][1] -= squares(table[2 + i % 4] + 1, table[5] + 1, COLUMNS - 1) + corner((const double *const *)(out + i), 1, 3);
    check_record("found", found, sizeof found);
    check_record_rows("out", (void *const *)out, N, 3 * sizeof(double));
    free_rows(points);
    free_rows(table);
    free_rows(out);
}

// case planes_in_function: three levels of pointers, of which a function gets one, two or all; typedefs, struct members, arrays of pointers
typedef double *row;
typedef row *plane;
struct space {
    int planes, rows, columns;
    plane *at;
};

static double row_sum(row r, int columns)
{
    double sum = 0;
    for (int c = 0; c < columns; c++)
        sum += r[c];
    return sum;
}

static double plane_sum(plane p, int rows, int columns)
{
    double sum = 0;
    for (int r = 0; r < rows; r++)
        sum += row_sum(p[r], columns) * (r + 1);
    return sum;
}

static double space_sum(double ***s, int which, int rows, int columns)
{
    double diagonal = 0;
    for (int r = 0; r < rows; r++)
        diagonal += s[which][r][r % columns];
    return diagonal + plane_sum(s[which], rows, columns) + plane_sum(s[which] + 1, rows - 1, columns);
}

CASE(planes_in_function)
{
    enum { PLANES = 4, ROWS = 7, COLUMNS = 5 };
    struct space space = {PLANES, ROWS, COLUMNS, check_allocate(PLANES, sizeof(plane))}, *const s = &space;
    for (int p = 0; p < PLANES; p++)
        s->at[p] = rows_of(ROWS + p, COLUMNS) + p;
    row mixed[PLANES];
    for (int p = 0; p < PLANES; p++)
        mixed[p] = s->at[PLANES - 1 - p][p];
    double sums[PLANES][3];
#pragma tilek kernel independent data(s->at[0:PLANES][0:ROWS][0:COLUMNS], mixed[0:PLANES][0:COLUMNS])
    for (int p = 0; p < PLANES; p++) {
        sums[p][0] = space_sum(s->at, p, s->rows, s->columns);
        sums[p][1] = plane_sum(s->at[p], s->rows, s->columns) + row_sum(s->at[p][2], s->columns);
        sums[p][2] = plane_sum(mixed, PLANES, COLUMNS);
    }
    check_record("sums", sums, sizeof sums);
    for (int p = 0; p < PLANES; p++)
        free_rows(s->at[p] - p);
    free(s->at);
}

// case lengths_in_function: arrays of variable lengths in a function that moves along their rows and changes what the length was
static double first_of(int m, double (*p)[m], int r)
{
    double (*const next)[m] = p + 1;
    const int columns = m;
    m = 1;
    return p[r][columns - 1] + next[r][0] + m;
}

CASE(lengths_in_function)
{
    const int n = 19, m = 7;
    double (*const a)[m] = (double (*)[m])check_doubles((size_t)n * m);
    double out[19] = {0};
#pragma tilek kernel independent data(a[0:n][0:m], out[0:n])
    for (int i = 0; i < n - 2; i++)
        out[i] = first_of(m, a, i) - first_of(m, a + 1, i) * first_of(m, &a[i], 0);
    check_record("out", out, sizeof out);
    free(a);
}

// case private_structs: structs, unions, their members and arrays that stand before the loop, each written before it is read
typedef struct {
    double x, y;
} pair;
typedef struct {
    pair first, second;
    double weights[3];
    pair list[2];
} body;
typedef union {
    double value;
    unsigned halves[2];
} bits;

static pair pair_of(double x, double y)
{
    pair made = {x, y};
    return made;
}

static double length(pair p) { return p.x * p.x + p.y; }

static void set_pair(pair *p, double x)
{
    p->x = x;
    p->y = x * x;
}

static void set_number(double *to, double x) { *to = x; }

static void scratch(int n, const double *a, const double *b, const int *order, double *out)
{
    pair d, e, pairs[2];
    body whole;
    bits view;
    double number, w[4];
#pragma tilek kernel independent data(a[0:n], b[0:n], order[0:n], out[0:n])
    for (int i = 0; i < n; i++) {
        e = pair_of(a[i], b[i]);
        d = e;
        d.x += 1;
        whole.first.x = d.x;
        whole.first.y = e.y;
        whole.second = whole.first;
        for (int k = 0; k < 3; k++)
            whole.weights[k] = whole.second.x * k;
        whole.list[1].x = whole.weights[2];
        pairs[0] = whole.second;
        pairs[1].x = whole.weights[1];
        set_number(&number, d.y);
        view.value = number + 4;
        for (int k = 0; k < 4; k++)
            w[k] = a[i] + k;
        out[order[i]] = length(d) + whole.list[1].x + pairs[0].y * pairs[1].x + (view.halves[1] >> 8) + w[0] * w[3];
    }
#pragma tilek kernel data(a[0:n], out[0:n], order[0:n])
#pragma tilek loop independent
    for (int i = 0; i < n; i++) {
        out[order[i]] *= 0.5;
        for (int j = 0; j < 9; j++) {
            set_pair(&d, a[j] + a[i]);
            if (d.y > 1)
                out[order[i]] += d.x + 2 * d.y;
        }
    }
}

CASE(private_structs)
{
    enum { N = 5003 };
    double *const a = check_doubles(N), *const b = check_doubles(2 * N) + N, *const out = check_allocate(N, sizeof *out);
    int *const order = check_allocate(N, sizeof *order);
    for (int i = 0; i < N; i++)
        order[i] = N - 1 - i;
    scratch(N, a, b, order, out);
    check_record("out", out, N * sizeof *out);
    free(a);
    free(b - N);
    free(out);
    free(order);
}

// case private_by_clause: structs and arrays that clauses name, with the first value of some
static void by_clause(int n, const double *a, double *out)
{
    pair d, start = {1, 2};
    double w[4];
    for (int t = 0; t < 2; t++) {
#pragma tilek kernel private(d, w) firstprivate(start) data(a[0:n], out[0:n])
#pragma tilek loop independent
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < 4; k++)
                w[k] = a[i] * k;
            d.x = w[3] + start.x;
            d.y = d.x * start.y;
            out[i] += d.x + d.y + w[1];
        }
    }
}

CASE(private_by_clause)
{
    enum { N = 3001 };
    double *const a = check_doubles(N), *const out = check_allocate(N, sizeof *out);
    by_clause(N, a, out);
    check_record("out", out, N * sizeof *out);
    free(a);
    free(out);
}

// case last_values: what somebody reads after an independent loop is the last iteration's, of numbers, members, structs and arrays
static double global_number, global_cells[3];

CASE(last_values)
{
    enum { N = 4001, M = 7 };
    double *const a = check_doubles(N), *const out = check_allocate(N, sizeof *out);
    pair d = {0, 0}, whole = {0, 0}, *const far = check_allocate(1, sizeof *far);
    bits view = {0};
    int down = -1, w[4] = {0, 0, 0, 0};
#pragma tilek kernel independent data(a[0:N], out[0:N])
    for (int i = 0; i < N; i++) {
        d.x = a[i];
        far->y = d.x * 2;
        whole = pair_of(far->y, a[i]);
        view.value = whole.x;
        for (int k = 0; k < 4; k++)
            w[k] = i - k;
        for (int k = 0; k < 3; k++)
            global_cells[k] = a[i] * k;
        global_number = d.x * d.x + w[1];
        out[i] = global_number + far->y + whole.x + view.value + global_cells[2];
    }
    check_record("d", &d, sizeof d);
    check_record("far", far, sizeof *far);
    check_record("whole", &whole, sizeof whole);
    check_record("view", &view, sizeof view);
    check_record("w", w, sizeof w);
    check_record("number", &global_number, sizeof global_number);
    check_record("cells", global_cells, sizeof global_cells);
    check_record("out", out, N * sizeof *out);
#pragma tilek kernel independent data(a[0:N], out[0:N])
    for (int i = N / M - 1; i >= 0; i--)
        for (int j = 1; j <= M - 1; j += 2) {
            down = i * M + j;
            out[down] = a[down] * down;
        }
    check_record("down", &down, sizeof down);
    check_record("out", out, N * sizeof *out);
    free(a);
    free(out);
    free(far);
}

// case member_sums: members of structs that loops add to, with a clause and without
CASE(member_sums)
{
    enum { N = 2003 };
    long *const a = check_allocate(N, sizeof *a);
    struct {
        long sum, largest;
    } *sums = check_allocate(1, sizeof *sums), here = {0, -5000};
    for (int i = 0; i < N; i++)
        a[i] = (long)(check_random(i) % 2001) - 1000;
#pragma tilek kernel reduction(+: sums->sum) reduction(max: here.largest) data(a[0:N])
#pragma tilek loop independent
    for (int i = 0; i < N; i++) {
        sums->sum += a[i];
        if (a[i] > here.largest)
            here.largest = a[i];
    }
#pragma tilek kernel data(a[0:N])
    for (int i = 0; i < N; i++)
        here.sum += a[i];
    check_record("here", &here, sizeof here);
    check_record("sums", sums, sizeof *sums);
    free(a);
    free(sums);
}

// case pointers_set_in_loop: pointers that stand before the loops and are set in each iteration, to places that data say and to others
CASE(pointers_set_in_loop)
{
    enum { BOXES = 6, SIZE = 50 };
    static const int first[BOXES] = {250, 0, 150, 50, 200, 100};
    double *const positions = check_doubles(BOXES * SIZE), *const forces = check_allocate(BOXES * SIZE, sizeof *forces);
    const double *from;
    double *to, distance;
    int i, j, box;
#pragma tilek kernel data(positions[0:BOXES * SIZE], forces[0:BOXES * SIZE])
#pragma tilek loop independent
    for (box = 0; box < BOXES; box++) {
        const int start = first[box];
        from = &positions[start];
        to = forces + start;
        for (i = 0; i < SIZE; i++)
            for (j = 0; j < SIZE; j++) {
                distance = from[i] - positions[j];
                to[i] += distance * distance;
            }
    }
    check_record("forces", forces, BOXES * SIZE * sizeof *forces);
    free(positions);
    free(forces);
}

// case parts_of_unions: elements of arrays of unions, of which each iteration writes or reads a part; structs nested in structs
typedef union {
    double value;
    unsigned halves[2];
    unsigned char bytes[16];
} overlay;
typedef struct {
    pair in, out;
    double cells[4];
} nested;

CASE(parts_of_unions)
{
    enum { N = 301 };
    overlay views[6][N];
    nested nests[N];
    double out[N], *const a = check_doubles(N);
    for (size_t i = 0; i < sizeof views; i++)
        ((unsigned char *)views)[i] = (unsigned char)(i % 63);
    check_fill_double(&nests[0].in.x, N * (sizeof *nests / sizeof(double)));
#pragma tilek kernel
    for (int i = 0; i < N; i++)
        views[0][i].bytes[2] = (unsigned char)i;
#pragma tilek kernel
    for (int i = 0; i < N; i++)
        views[1][i].halves[1] = (unsigned)i;
#pragma tilek kernel
    for (int i = 0; i < N; i++)
        views[2][i].value = a[i];
#pragma tilek kernel
    for (int i = 0; i < N; i++) {
        views[3][i].halves[0] = (unsigned)i;
        views[3][i].halves[1] = views[3][i].bytes[1];
        out[i] = views[4][i].halves[0];
    }
    check_record("views", views, sizeof views);
    check_record("out", out, sizeof out);
#pragma tilek kernel
    {
        for (int i = 0; i < N; i++)
            views[5][i].halves[0] = (unsigned)i;
        for (int i = 0; i < N; i++)
            out[i] = views[5][i].halves[1];
    }
#pragma tilek kernel
    {
        for (int i = 0; i < N; i++) {
            nests[i].in.x = a[i];
            nests[i].cells[2] = a[i] + 1;
        }
        for (int i = 0; i < N; i++)
            out[i] += nests[i].in.y + nests[i].cells[1];
    }
    check_record("views", views, sizeof views);
    check_record("nests", nests, sizeof nests);
    check_record("out", out, sizeof out);
    free(a);
}

// case private_further_in: arrays and structs that iterations of an inner loop write before they read them, and someone reads after it
static double length_of(const pair *p) { return p->x * p->x + p->y; }
static double sum_of(const pair *p, const pair *q) { return length_of(p) - q->y; }

static void further_in(int n, int m, const double *a, double out[n][m], double *last, nested *nests)
{
    double w[4];
    pair d = {1, 2}, e;
#pragma tilek kernel data(a[0:m], last[0:n])
    for (int t = 0; t < n; t++) {
#pragma tilek loop independent
        for (int i = 0; i < m; i++) {
            for (int k = 0; k < 4; k++)
                w[k] = a[i] * k + t;
            out[t][i] = w[1] + w[3];
        }
        last[t] = w[2];
    }
    check_record("w", w, sizeof w);
#pragma tilek kernel data(nests[0:n])
    for (int t = 0; t < n; t++)
#pragma tilek loop independent
        for (int i = 0; i < 4; i++)
            nests[t].cells[i] = t * i;
#pragma tilek kernel independent data(a[0:m])
    for (int i = 0; i < m; i++) {
        set_pair(&d, a[i]);
        e = d;
        out[0][i] = sum_of(&e, &d);
    }
    check_record("d", &d, sizeof d);
    check_record("e", &e, sizeof e);
}

CASE(private_further_in)
{
    enum { N = 8, M = 301 };
    double *const a = check_doubles(M), *const out = check_allocate(N * M, sizeof *out), last[N];
    nested nests[N];
    check_fill_double(&nests[0].in.x, N * (sizeof *nests / sizeof(double)));
    further_in(N, M, a, (double (*)[M])out, last, nests);
    check_record("out", out, N * M * sizeof *out);
    check_record("last", last, sizeof last);
    check_record("nests", nests, sizeof nests);
    free(a);
    free(out);
}

// case written_under_conditions: independent iterations of which several, or one, write what is read after the loop
CASE(written_under_conditions)
{
    enum { N = 1301 };
    int *const keys = check_ints(N), which = -1, any = 0, place = 0;
    double *const a = check_doubles(N), sums[3] = {0, 0, 0};
#pragma tilek kernel independent data(keys[0:N])
    for (int i = 0; i < N; i++)
        if (keys[i] > 400)
            which = i;
#pragma tilek kernel independent data(keys[0:N], a[0:N])
    for (int i = 0; i < N; i++)
        if (keys[i] > 400)
            sums[1] = a[i];
#pragma tilek kernel independent data(keys[0:N])
    for (int i = 0; i < N; i++)
        if (keys[i] > 400)
            any = 1;
#pragma tilek kernel independent data(keys[0:N])
    for (int i = 0; i < N; i++)
        if (i == N / 2)
            place = keys[i];
    check_record("which", &which, sizeof which);
    check_record("any", &any, sizeof any);
    check_record("place", &place, sizeof place);
    check_record("sums", sums, sizeof sums);
    free(keys);
    free(a);
}

// case places_that_functions_choose: functions with indices of their own, and scratch arrays whose used part differs from iteration to iteration
typedef struct {
    double cells[60][4];
} board;

static void put(double *p, int i, double value)
{
    const int j = i + 1;
    p[j] = value;
}

static void place(board *b, int i, double value)
{
    const int row = i / 4, column = i % 4;
    b->cells[row][column] = value;
}

static void put_halved(double *p, int i, double value)
{
    i /= 2;
    p[i] = value;
}

static void fill(double *w, int n, double value)
{
    for (int k = 0; k < n; k++)
        w[k] = value + k;
}

static void fill_less(double *w, int n, double value)
{
    n--;
    for (int k = 0; k < n; k++)
        w[k] = value + k;
}

CASE(places_that_functions_choose)
{
    enum { N = 203 };
    double *const a = check_doubles(N), out[2 * N + 1] = {0}, w[4], v[4] = {0}, x[4] = {0}, part[8] = {0}, last[N];
    int *const counts = check_ints(N);
    board *const b = check_allocate(1, sizeof *b);
#pragma tilek kernel independent data(a[0:N], out[0:2 * N + 1])
    for (int i = 0; i < N; i++) {
        put(out, i, a[i]);
        place(b, i, a[i] * 2);
    }
#pragma tilek kernel independent data(a[0:N], out[0:2 * N + 1])
    for (int i = 0; i < N; i++)
        put_halved(out + 1, 2 * i, a[i]);
#pragma tilek kernel independent data(a[0:N])
    for (int i = 0; i < N; i++) {
        fill(w, 4, a[i]);
        last[i] = w[0] + w[3];
    }
#pragma tilek kernel independent data(a[0:N])
    for (int i = 0; i < N; i++)
        fill_less(v, 4, a[i]);
#pragma tilek kernel independent data(a[0:N], counts[0:N])
    for (int i = 0; i < N; i++)
        fill(x, counts[i] & 3, a[i]);
#pragma tilek kernel independent data(a[0:N], counts[0:N])
    for (int i = 0; i < N; i++) {
        const int m = 1 + (counts[i] & 7);
        for (int k = 0; k < m; k++)
            part[k] = a[i] * k;
        double sum = 0;
        for (int k = 0; k < m; k++)
            sum += part[k];
        last[i] += sum;
    }
    check_record("b", b, sizeof *b);
    check_record("out", out, sizeof out);
    check_record("w", w, sizeof w);
    check_record("v", v, sizeof v);
    check_record("x", x, sizeof x);
    check_record("last", last, sizeof last);
    free(a);
    free(b);
    free(counts);
}

// case last_values_before_continue: what independent iterations write before they leave by continue or break, of numbers, structs and arrays
CASE(last_values_before_continue)
{
    enum { N = 303 };
    double *const a = check_doubles(N), *const b = check_doubles(N), out[N] = {0}, t = 3, u = 4, w[2] = {5, 6};
    int *const keys = check_ints(N);
    pair d = {1, 2};
    keys[N - 1] = 5;
#pragma tilek kernel independent data(a[0:N], b[0:N], keys[0:N])
    for (int i = 0; i < N; i++) {
        t = a[i];
        d.x = b[i];
        d.y = t;
        w[0] = t + 1;
        w[1] = d.x;
        if (keys[i] > 0)
            continue;
        out[i] = t + d.x;
    }
    check_record("t", &t, sizeof t);
    check_record("d", &d, sizeof d);
    check_record("w", w, sizeof w);
#pragma tilek kernel independent data(a[0:N], b[0:N], keys[0:N])
    for (int i = 0; i < N; i++) {
        do {
            if (keys[i] > 0)
                break;
            t = a[i];
        } while (0);
        u = b[i];
        if (u > 2)
            continue;
        out[i] += u;
    }
    check_record("t", &t, sizeof t);
    check_record("u", &u, sizeof u);
    check_record("out", out, sizeof out);
    free(a);
    free(b);
    free(keys);
}

// case pointers_in_copies: a copy of a struct dies with its function, what its pointers lead to does not
typedef struct grid_copy {
    double *u;
    double (*rows)[7];
    struct { double *v; } inner;
    int n;
} grid_copy;

static void add_through_copy(const grid_copy *from, double *out)
{
    grid_copy copy = *from;
#pragma tilek kernel
    for (int i = 0; i < copy.n; i++)
        copy.u[i] += i;
#pragma tilek kernel
    for (int i = 0; i < copy.n; i++)
        copy.rows[i][3] += i;
#pragma tilek kernel
    for (int t = 0; t < 9; t++) {
        for (int i = 0; i < copy.n; i++)
            copy.inner.v[i] = i + t;
        for (int i = 0; i < copy.n; i++)
            out[t * 400 + i] = copy.inner.v[copy.n - 1 - i] * 2;
    }
}

CASE(pointers_in_copies)
{
    enum { N = 353 };
    double *const u = check_doubles(N), *const v = check_doubles(N), *const rows = check_doubles(7 * N);
    double *const out = check_doubles(9 * 400);
    const grid_copy grid = {u, (double (*)[7])rows, {v}, N};
    add_through_copy(&grid, out);
    check_record("u", u, N * sizeof *u);
    check_record("v", v, N * sizeof *v);
    check_record("rows", rows, 7 * N * sizeof *rows);
    check_record("out", out, 9 * 400 * sizeof *out);
    free(u);
    free(v);
    free(rows);
    free(out);
}

// case nameless_members: members of nameless structs, in arrays, copies and functions; members of a nameless union, of which a kernel uses one and the host another
typedef struct {
    char tag;
    __extension__ struct {
        double x, y;
        __extension__ struct {
            int q;
            char c;
        };
    };
    int v[3];
} flat;
typedef struct {
    int n;
    __extension__ union {
        double cells[400];
        __extension__ struct {
            double first, second;
        };
    };
    __extension__ union {
        int count;
        short low;
    };
} view;

static double weigh(flat f, const flat *of) { return f.x * f.q + of->y + of->c + of->v[1]; }

static double seen_by_others(int n, const double *a)
{
    view seen;
    seen.count = 0;
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        seen.cells[i] = a[i] + 2;
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        seen.count += i;
    return seen.first + seen.second * 3 + seen.low;
}

static void changed_between(view *t, int n, double *a)
{
    int step = 0;
#pragma tilek kernel
    while (step < 9) {
        for (int i = 0; i < n; i++)
            a[i] += t->low * 0.5;
        for (int i = 0; i < n; i++)
            a[i] -= a[i] * t->low / 64;
        t->count = step++;
    }
}

CASE(nameless_members)
{
    enum { N = 353 };
    flat flats[N], scratch;
    view both = {.n = N};
    memset(flats, 0, sizeof flats);
    double *const a = check_doubles(N);
    for (int i = 0; i < N; i++) {
        flats[i].tag = (char)(i % 9);
        flats[i].x = a[i];
        flats[i].y = a[N - 1 - i];
        flats[i].q = i % 11;
        flats[i].c = (char)(i % 100);
        flats[i].v[1] = i;
    }
    const flat shared = flats[7];
#pragma tilek kernel
    for (int i = 0; i < N; i++) {
        flats[i].x = flats[i].y + flats[i].q;
        flats[i].c = (char)(flats[i].tag + i % 50);
        flats[i].y += flats[i].x * shared.q;
    }
#pragma tilek kernel
    for (int i = 1; i < N; i++)
        flats[i].x = flats[i - 1].y + flats[i - 1].c;
#pragma tilek kernel
    for (int i = 0; i < N; i++) {
        flat copy = flats[i], empty = {0};
        scratch.q = i;
        empty.y = copy.x + scratch.q;
        copy.q++;
        flats[i] = copy;
        flats[i].y += weigh(copy, &flats[i]) + weigh(empty, &empty);
    }
    check_record("flats", flats, sizeof flats);
    double total = seen_by_others(N, a);
    check_record("total", &total, sizeof total);
    both.low = 3;
    changed_between(&both, N, a);
    check_record("a", a, N * sizeof *a);
    free(a);
}
