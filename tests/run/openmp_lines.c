/* Loops with lines of OpenMP, compiled with and without them. */
#include <stdio.h>
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) { return 1; }
static int omp_get_num_threads(void) { return 1; }
static int omp_get_thread_num(void) { return 0; }
#endif

enum { N = 613, M = 37 };

static double a[N][M], b[N][M], *rows[N];
static double x[N], y[N];
static int order[N], counts[N], quarters[4];

static void heat(int n, int m)
{
    int i, j;
#pragma omp parallel for private(j) schedule(static)
    for (i = 1; i < n - 1; i++)
        for (j = 1; j < m - 1; j++) b[i][j] = 0.25 * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]);
}

static void gather(int n, const int *places, const double *from, double *to)
{
    int i, k;
    double sum;
    const int *row;
#pragma omp parallel for private(k, sum, row) num_threads(2)
    for (i = 0; i < n; i++) {
        sum = 0;
        row = places;
        for (k = 0; k < 5; k++) sum += from[row[(i + k) % n]] * k;
        to[i] = sum;
    }
}

static void scatter(int n, const int *places, double *to)
{
#pragma omp parallel for default(shared)
    for (int i = 0; i < n; i++) {
        to[places[i]] = i;
        rows[places[i]][i % M] += 1;
    }
}

static void short_rows(int n)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        int row[16], sum = 0;
#pragma omp simd
        for (int j = 0; j < 16; j++) row[j] = order[(i + j) % n];
#pragma omp simd reduction(+:sum) safelen(8)
        for (int j = 0; j < 16; j++) sum += row[j] * j;
        counts[i] += sum;
    }
}

static int sums(int n, double *product, double *largest)
{
    int last = -1, odd = 0;
    double total = 0, most = 0;
#pragma omp parallel for reduction(+ : total, odd) reduction(max : most) if (n > 10)
    for (int i = 0; i < n; i++) {
        total += x[i] * y[i];
        odd += order[i] % 2;
        most = most > y[i] ? most : y[i];
    }
#pragma omp parallel for lastprivate(last)
    for (int i = 0; i < n; i++) {
        last = order[i];
        counts[i] = last + 1;
    }
    *product = total;
    *largest = most;
    return last + odd;
}

/* Updates that may come in any order, of scalars and of elements that data choose. */
static double counted(int n, double *weights)
{
    double most = 0;
#pragma omp parallel for reduction(+ : weights[:4])
    for (int i = 0; i < n; i++) {
        weights[order[i] & 3] += x[i];
#pragma omp atomic
        quarters[order[i] % 4]++;
#pragma omp atomic update
        quarters[3 - (order[i] & 3)] += 2;
#pragma omp critical(most)
        {
            if (x[i] > most) most = x[i];
        }
    }
    return most;
}

static int kept(int n)
{
    int hits = 0;
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        if (order[i] % 3 == 0) {
            int before;
#pragma omp atomic capture
            before = hits++;
            counts[i] += before < 0;
        }
#pragma omp parallel
    {
#pragma omp sections
        {
            y[0] += 1;
        }
#pragma omp for
        for (int i = 0; i < n; i++) y[i] = y[i] * 0.5;
    }
#pragma omp parallel for collapse(2)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < M; j++) a[i][j] = b[i][j] + order[i];
    return hits;
}

/* Threads that take the steps together: one may take them alone. */
static double together(int n, int times, int *threads)
{
    int i, rounds = 0;
    double w, total = 0;
#pragma omp parallel private(i, w) shared(rounds) firstprivate(times) reduction(+ : total)
    {
        double *from = x, *to = y;
        int k = 0;
        do {
#pragma omp for schedule(static) nowait
            for (i = 1; i < n - 1; i++) {
                w = from[i - 1] + from[i + 1];
                to[i] = 0.5 * w;
                total += w;
            }
#pragma omp barrier
            double *turn = from;
            from = to;
            to = turn;
            k++;
        } while (k < times);
#pragma omp master
        {
            rounds += k;
            *threads = omp_get_num_threads();
        }
    }
#pragma omp parallel private(i)
#pragma omp for
    for (i = 0; i < n; i++) y[i] += rounds;
#pragma omp parallel private(i)
    {
        double scratch[3][2], weights[2];
        weights[0] = 0.5, weights[1] = 0.25;
#pragma omp for
        for (i = 0; i < n; i++) {
            for (int k = 0; k < 6; k++) scratch[k % 3][k / 3] = x[i] + k;
            y[i] += scratch[order[i] % 3][i % 2] * weights[i % 2];
        }
    }
    return total;
}

/* Threads that one cannot stand for. */
static int apart(int n)
{
    int last = 5;
#pragma omp parallel
    {
        double pair[2] = {1, 2};
#pragma omp for
        for (int i = 0; i < n; i++) {
            pair[1] = x[i];
            y[i] += pair[0];
        }
    }
#pragma omp parallel
    {
        double *scratch = malloc(4 * sizeof *scratch), *same = scratch;
#pragma omp for
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < 4; j++) same[j] = x[i] + j;
            y[i] += same[i % 4];
        }
        free(scratch);
    }
#pragma omp parallel private(last)
    {
        last = 3;
#pragma omp for
        for (int i = 0; i < n; i++) x[i] += last;
    }
    return last;
}

/* Loops in functions, for the threads of whoever calls them. */
static void smooth(int n, const double *from, double *to)
{
    int i;
    double w;
#pragma omp for
    for (i = 1; i < n - 1; i++) {
        w = from[i - 1] + from[i + 1];
        to[i] += 0.125 * w;
    }
}

static void smooth_twice(int n)
{
    smooth(n, x, y);
#pragma omp single
    x[0] += 1;
    smooth(n, y, x);
}

static void mark(int n, double *to)
{
#pragma omp for
    for (int i = 0; i < n; i++) to[i] += 1;
}

void count_up(int n)
{
#pragma omp for
    for (int i = 0; i < n; i++) counts[i] += 1;
}

static void through_calls(int n)
{
    int least = n;
#pragma omp parallel
    {
        smooth_twice(n);
        smooth(n, x, y);
    }
#pragma omp parallel
    {
        if (omp_get_thread_num() < n) mark(n, y);
    }
#pragma omp parallel
    {
        count_up(n);
    }
    mark(least, x);
}

static void both(int n)
{
#pragma omp parallel for
#pragma tilek kernel name(user)
    for (int i = 0; i < n; i++) counts[i] *= 3;
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
#pragma omp parallel for
        for (int j = 0; j < M; j++) b[i][j] -= a[i][j];
    }
}

int main(void)
{
    double product, largest, check = 0, weights[4] = {0};
    for (int i = 0; i < N; i++) {
        order[i] = i * 100 % N;
        x[i] = i % 17 * 0.25;
        rows[i] = calloc(M, sizeof(double));
        for (int j = 0; j < M; j++) a[i][j] = (i * M + j) % 29;
    }
    heat(N, M);
    gather(N, order, x, y);
    scatter(N, order, x);
    check += counted(N, weights);
    for (int i = 0; i < 4; i++) check += weights[i] * i + quarters[i] * (i + 3);
    const int whole = sums(N, &product, &largest), hits = kept(N);
    short_rows(N);
    both(N);
    int threads = 0;
    const double total = together(N, 5, &threads);
    const int last = apart(N);
    through_calls(N);
    for (int i = 0; i < N; i++) {
        check += x[i] + 2 * y[i] + 3 * counts[i];
        for (int j = 0; j < M; j++) check += (a[i][j] - b[i][j]) * (i % 7) + rows[i][j] * j;
    }
    printf("last %d, usual threads %d\n%d %d %.17g %.17g %.17g %.17g\n", last, threads == omp_get_max_threads(), whole, hits, product, largest, total, check);
    return 0;
}
