/* sor_convergence.c with sweeps over five points by the translator: the same iterates as the references', to the last bit. The error is looked at
 * every SWEEPS_AT_ONCE sweeps, a multiple of twice the layers of each method. */
#include <stddef.h>
#include <string.h>

enum { SWEEPS_AT_ONCE = 64 };

typedef void kernel_sweeps(int n, double w, double u[n + 2][n + 2], const double f[n + 2][n + 2]);

static void kernel_natural(int n, double w, double u[n + 2][n + 2], const double f[n + 2][n + 2])
{
#pragma tilek kernel sor(wavefront)
    for (int t = 0; t < SWEEPS_AT_ONCE; t++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1] + f[i][j]);
}

static void kernel_redblack(int n, double w, double u[n + 2][n + 2], const double f[n + 2][n + 2])
{
#pragma tilek kernel sor(redblack)
    for (int t = 0; t < SWEEPS_AT_ONCE; t++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1] + f[i][j]);
}

static void kernel_2_4(int n, double w, double u[n + 2][n + 2], const double f[n + 2][n + 2])
{
#pragma tilek kernel sor(multilayer, layers: 2, subdomain: 4)
    for (int t = 0; t < SWEEPS_AT_ONCE; t++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1] + f[i][j]);
}

static void kernel_4_8(int n, double w, double u[n + 2][n + 2], const double f[n + 2][n + 2])
{
#pragma tilek kernel sor(multilayer, layers: 4, subdomain: 8)
    for (int t = 0; t < SWEEPS_AT_ONCE; t++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1] + f[i][j]);
}

static void kernel_8_16(int n, double w, double u[n + 2][n + 2], const double f[n + 2][n + 2])
{
#pragma tilek kernel sor(multilayer, layers: 8, subdomain: 16)
    for (int t = 0; t < SWEEPS_AT_ONCE; t++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1] + f[i][j]);
}

static void kernel_16_32(int n, double w, double u[n + 2][n + 2], const double f[n + 2][n + 2])
{
#pragma tilek kernel sor(multilayer, layers: 16, subdomain: 32)
    for (int t = 0; t < SWEEPS_AT_ONCE; t++)
        for (int i = 1; i <= n; i++)
            for (int j = 1; j <= n; j++)
                u[i][j] = (1 - w) * u[i][j] + w / 4 * (u[i-1][j] + u[i][j-1] + u[i+1][j] + u[i][j+1] + f[i][j]);
}

/* The kernel of a method; NULL where there is none. */
static kernel_sweeps *kernel_of(const char *name)
{
    static const struct {
        const char *name;
        kernel_sweeps *sweeps;
    } known[] = {{"sor", kernel_natural},     {"redblack", kernel_redblack},  {"mlsor:2:4", kernel_2_4},
                 {"mlsor:4:8", kernel_4_8},   {"mlsor:8:16", kernel_8_16},    {"mlsor:16:32", kernel_16_32}};

    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        if (strcmp(known[k].name, name) == 0)
            return known[k].sweeps;
    return NULL;
}

#define SOR_KERNELS
#include "../tests/references/sor_convergence.c"
