struct grid { int n; double *u; };
void f(int n, double *a, struct grid *g, double b[n])
{
#pragma tilek data copy(a[0:n], missing[3])
    {
        if (n < 0)
            return;
        a[0] = 1;
    }
    for (int i = 0; i < n; i++) {
#pragma tilek data copyin(g->u[n], g->w[n], g.u[n], a->x[3])
        {
            if (i > 3)
                break;
            for (int j = 0; j < n; j++)
                if (j > 3)
                    break;
        }
    }
    if (n > 3)
#pragma tilek update self(a[n])
        a[0] = 2;
#pragma tilek kernel data(b[n]) data(nowhere[n])
    for (int i = 0; i < n; i++)
        a[i] = 0;
}
#pragma tilek enter data copyin(x[3])
