/* Successive over-relaxation, sequentially, as the equations of the thesis (chapter 6) have it: what faster programs are held to, bit for bit.
 *
 * A mesh has n inner points along each of one to three dimensions, in an array of n + 2 along each, row by row; its border is given and stays. Solved
 * are, for inner points, f being h^2 times the source,
 *
 *     2 u[i] - u[i-1] - u[i+1] = f[i]                                                   three points
 *     4 u[i][j] - u[i-1][j] - u[i][j-1] - u[i+1][j] - u[i][j+1] = f[i][j]             (6.2), five points
 *     20 u[i][j] - 4 (the four above) - (the four at the corners) = 6 f[i][j]         nine points
 *     6 u[i][j][k] - (its six neighbours along the axes) = f[i][j][k]                 seven points
 *
 * A sweep relaxes every inner point once; it returns the greatest change of a point. Real is double unless it is defined before. */
#ifndef REFERENCES_SOR_H
#define REFERENCES_SOR_H

#include <stddef.h>

#ifndef REAL
#define REAL double
#endif

enum { MOST_LAYERS = 64, MOST_DIMENSIONS = 3 };

typedef struct sor_problem sor_problem;

/* Relaxes the inner point with this place in the array, and returns by how much it changed. */
typedef REAL relaxation(const sor_problem *problem, ptrdiff_t place);

struct sor_problem {
    relaxation *relax;
    int n;
    REAL omega;
    REAL *u;
    const REAL *f;
    int dimensions;
};

static REAL magnitude(REAL value)
{
    return value < 0 ? -value : value;
}

static REAL relax_three(const sor_problem *problem, ptrdiff_t place)
{
    REAL *const here = problem->u + place;
    const REAL before = *here;
    const REAL sum = here[-1] + here[1] + problem->f[place];

    *here = (1 - problem->omega) * before + problem->omega / 2 * sum;
    return magnitude(*here - before);
}

/* (6.4) and (6.5), with a right-hand side: which neighbours are new already is the order's matter. */
static REAL relax_five(const sor_problem *problem, ptrdiff_t place)
{
    const ptrdiff_t row = problem->n + 2;
    REAL *const here = problem->u + place;
    const REAL before = *here;
    const REAL sum = here[-row] + here[-1] + here[row] + here[1] + problem->f[place];

    *here = (1 - problem->omega) * before + problem->omega / 4 * sum;
    return magnitude(*here - before);
}

static REAL relax_nine(const sor_problem *problem, ptrdiff_t place)
{
    const ptrdiff_t row = problem->n + 2;
    REAL *const here = problem->u + place;
    const REAL before = *here;
    const REAL edges = here[-row] + here[-1] + here[row] + here[1];
    const REAL corners = here[-row - 1] + here[-row + 1] + here[row - 1] + here[row + 1];
    const REAL sum = 4 * edges + corners + 6 * problem->f[place];

    *here = (1 - problem->omega) * before + problem->omega / 20 * sum;
    return magnitude(*here - before);
}

static REAL relax_seven(const sor_problem *problem, ptrdiff_t place)
{
    const ptrdiff_t row = problem->n + 2, plane = row * row;
    REAL *const here = problem->u + place;
    const REAL before = *here;
    const REAL sum = here[-plane] + here[-row] + here[-1] + here[plane] + here[row] + here[1] + problem->f[place];

    *here = (1 - problem->omega) * before + problem->omega / 6 * sum;
    return magnitude(*here - before);
}

/* Points [first, last] along each dimension in lexicographic order: `point` goes on to the next one, if there is one. */
static int next_point(int dimensions, const int *first, const int *last, int *point)
{
    for (int k = dimensions - 1; k >= 0; k--) {
        if (++point[k] <= last[k])
            return 1;
        point[k] = first[k];
    }
    return 0;
}

/* Relaxes them, 1 <= first, last <= n; backward they are mirrored. */
static REAL relax_box(const sor_problem *problem, const int *first, const int *last, int backward)
{
    const int n = problem->n;
    int point[MOST_DIMENSIONS];
    REAL most = 0;

    for (int k = 0; k < problem->dimensions; k++) {
        point[k] = first[k];
        if (first[k] > last[k])
            return 0;
    }
    do {
        ptrdiff_t place = 0;
        for (int k = 0; k < problem->dimensions; k++)
            place = place * (n + 2) + (backward ? n + 1 - point[k] : point[k]);
        const REAL change = problem->relax(problem, place);
        if (change > most)
            most = change;
    } while (next_point(problem->dimensions, first, last, point));
    return most;
}

/* One sweep of SOR: forward in lexicographic order (6.4), or backward, in the opposite order (6.5). */
static REAL sor_sweep(const sor_problem *problem, int backward)
{
    const int first[MOST_DIMENSIONS] = {1, 1, 1}, last[MOST_DIMENSIONS] = {problem->n, problem->n, problem->n};

    return relax_box(problem, first, last, backward);
}

/* Relaxes the points of one colour. Two colours, the sum of the subscripts less 1 being even (red) or odd (black), suffice where neighbours lie along the
 * axes; 2^dimensions, by the parities of all subscripts, everywhere. The point whose subscripts are 1 has the
 * first colour, 0. */
static REAL relax_colour(const sor_problem *problem, int colours, int colour)
{
    const int n = problem->n, first[MOST_DIMENSIONS] = {1, 1, 1}, last[MOST_DIMENSIONS] = {n, n, n};
    int point[MOST_DIMENSIONS] = {1, 1, 1};
    REAL most = 0;

    if (n < 1)
        return 0;
    do {
        ptrdiff_t place = 0;
        int sum = 0, parities = 0;
        for (int k = 0; k < problem->dimensions; k++) {
            place = place * (n + 2) + point[k];
            sum += point[k] - 1;
            parities = 2 * parities + (point[k] - 1) % 2;
        }
        if ((colours == 2 ? sum % 2 : parities) != colour)
            continue;
        const REAL change = problem->relax(problem, place);
        if (change > most)
            most = change;
    } while (next_point(problem->dimensions, first, last, point));
    return most;
}

/* One sweep by colours: no point's neighbours have its colour. */
static REAL coloured_sweep(const sor_problem *problem, int colours)
{
    REAL most = 0;

    for (int colour = 0; colour < colours; colour++) {
        const REAL change = relax_colour(problem, colours, colour);
        if (change > most)
            most = change;
    }
    return most;
}

/* The places [first, last] that a tile has along one dimension of a forward sweep. */
typedef struct {
    int first, last;
} places;

/* Tile t (1 or 2) of subdomain d of ceil(n/P), layers above the lowest one: places count from 0.
 *
 * The subdomain drifts by one place a layer (6.6), (6.7); the first and the last one end at the mesh's border in all layers. The cutting plane
 * between its tiles goes the other way (6.9): tile 1 has P - 1 places in the lowest layer, from where it shrinks on both sides, tile 2 the others.
 * Where P does not divide n (the thesis assumes that it does), the last subdomain has those of its places that lie in the mesh. */
static places tile_places(int t, int d, int layer, int n, int P)
{
    const int base = d * P;
    const int cut = base + P - 1 - layer;
    const int first = d == 0 ? 0 : base + layer;
    const int last = base + P - 1 + layer;
    const places low = {first, cut - 1 < n ? cut - 1 : n - 1}, high = {cut, last < n ? last : n - 1};

    return t == 1 ? low : high;
}

/* A tile of a K-layer sweep: its points in lexicographic order of (layer, i, j), mirrored where the sweep is backward. change[k] becomes the greatest
 * change in layer k. A neighbour has the most up-to-date value, whichever layer that is of: all layers are one array. */
static void mlsor_tile(const sor_problem *problem, int K, int P, int backward, const int *t, const int *d, REAL *change)
{
    int first[MOST_DIMENSIONS], last[MOST_DIMENSIONS];

    for (int layer = 0; layer < K; layer++) {
        for (int k = 0; k < problem->dimensions; k++) {
            const places own = tile_places(t[k], d[k], layer, problem->n, P);
            first[k] = own.first + 1;
            last[k] = own.last + 1;
        }
        const REAL found = relax_box(problem, first, last, backward);
        if (found > change[layer])
            change[layer] = found;
    }
}

/* What MLSOR cannot do: a K that is not 1 to floor(P/2). NULL where there is nothing. */
static const char *mlsor_refuses(int K, int P)
{
    return K < 1 || K > P / 2 || K > MOST_LAYERS ? "K is not from 1 to floor(P/2)" : NULL;
}

static int second_halves(int kernel)
{
    return kernel == 0 ? 0 : kernel % 2 + second_halves(kernel / 2);
}

/* The kernel that runs at a place among 2^dimensions: in lexicographic order; `upside_down` those with as many second halves together, the fewer the
 * earlier, in the opposite order. */
static int kernel_at(int place, int kernels, int upside_down)
{
    if (!upside_down)
        return place;
    for (int second = 0;; second++)
        for (int kernel = kernels - 1; kernel >= 0; kernel--)
            if (second_halves(kernel) == second && place-- == 0)
                return kernel;
}

/* K layers at once, forward or backward: the kernels K11, K12, K21 and K22 (in one dimension K1 and K2, in three K111 to K222), each over all subdomains.
 * What the subdomains of a kernel do does not depend on their order, nor does it matter, where neighbours lie along the axes, whether K12 or K21 comes
 * first: `upside_down` takes these orders the other way. */
static void mlsor_sweep(const sor_problem *problem, int K, int P, int backward, int upside_down, REAL *change)
{
    const int subdomains = (problem->n + P - 1) / P, dimensions = problem->dimensions;
    int all = 1;

    for (int k = 0; k < dimensions; k++)
        all *= subdomains;
    for (int k = 0; k < K; k++)
        change[k] = 0;
    for (int place = 0; place < 1 << dimensions; place++) {
        const int kernel = kernel_at(place, 1 << dimensions, upside_down);
        for (int s = 0; s < all; s++) {
            int t[MOST_DIMENSIONS], d[MOST_DIMENSIONS], taken = upside_down ? all - 1 - s : s;
            for (int k = dimensions - 1; k >= 0; k--, taken /= subdomains) {
                d[k] = taken % subdomains;
                t[k] = 1 + (kernel >> (dimensions - 1 - k)) % 2;
            }
            mlsor_tile(problem, K, P, backward, t, d, change);
        }
    }
}

/* A way to solve: lexicographic where there are no colours and no K, by colours, or MLSOR with K layers and subdomains of P along each dimension.
 * `alternating`: every other sweep, or K sweeps, goes backward. */
typedef struct {
    int colours, K, P, alternating;
} sor_method;

/* The sweeps of a round: what is between two looks at the mesh. */
static int sweeps_of_round(const sor_method *method)
{
    return method->K ? method->K : 1;
}

static void sor_round(const sor_method *method, const sor_problem *problem, int round)
{
    const int backward = method->alternating && round % 2;
    REAL change[MOST_LAYERS];

    if (method->K)
        mlsor_sweep(problem, method->K, method->P, backward, 0, change);
    else if (method->colours)
        coloured_sweep(problem, method->colours);
    else
        sor_sweep(problem, backward);
}

#endif
