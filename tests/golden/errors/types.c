#include <complex.h>
typedef float vec __attribute__((vector_size(16)));
struct bits { int a : 3; };
struct opaque;
struct list { struct list *next; double value; };
struct holder { double *data; };
struct part { union { int x; float y; }; int z; };
void f(int n, double *a, double complex *z, vec *v, struct bits *b, void *p, struct opaque *o, struct list *l, struct holder *h,
       double *rows[4][4], __int128 *wide, struct part *parts)
{
    struct { int x; } unnamed[2] = {{1}, {2}};
    struct local { double x; } near[2] = {{1}, {2}};
    struct bits flags = {1}, *const far = &flags;
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        z[i] = 1;
        v[i] = v[i];
        b[i].a = 1;
        ((double *)p)[i] = 1;
        a[i] = l->next->value;
        a[i] = h[i].data[i];
        a[i] = rows[0][1][i];
        a[i] = wide[i];
        a[i] = unnamed[1].x;
        a[i] = near[1].x;
        a[i] = flags.a - 1;
        far->a = i;
        parts[i].x = i;
        parts[i].z = i;
    }
}
