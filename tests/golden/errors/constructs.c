struct pair { double x, y; };
void f(int n, double *a, int m)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        switch (m) {
        case 1:
            if (n > 3) {
            case 2:
                a[i] = 1;
            }
        }
        __asm__("nop");
        a[i] = ({ int z = 3; z++; z; });
        a[i] = ({ int z = i++; z > 2 ? z : 2; });
        static int calls;
        extern int far;
        struct pair p = (struct pair){1, 2};
        struct local { int a; } l;
        double scratch[n];
        double *cursor = a + i;
        struct pair q = {.y = 1};
        const char *text = "text";
        a[i] = "text"[0];
        a++;
        *a++ = 1;
        a[i] = a > cursor;
        a[i] = sizeof(double[n]);
        a[i] = ((float *)a)[i];
        a[i] = *(m ? a : a + 1);
        if (a + i)
            break;
    }
    for (int k = 0; k < m; k++) {
#pragma tilek kernel
        {
            for (int i = 0; i < n; i++)
                a[i] = 0;
            if (n > 3)
                break;
            continue;
        }
    }
}
