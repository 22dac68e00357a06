struct list { int n; double *values; };

static double sum(const double *values, int n)
{
    double s = 0;
    for (int k = 0; k < n; k++)
        s += values[k];
    return s;
}

static double of_four(double (*rows)[4], int row) { return rows[row][1]; }

void pointers_in_structs(struct list *lists, int n, double *out)
{
#pragma tilek kernel independent data(lists[0:n], out[0:n])
    for (int i = 0; i < n; i++)
        out[i] = sum(lists[i].values, lists[i].n);
}

void other_lengths(double rows[6][8], double *out)
{
#pragma tilek kernel independent data(rows[0:6], out[0:6])
    for (int i = 0; i < 6; i++) {
        double (*four)[4] = (double (*)[4])rows;
        out[i] = of_four((double (*)[4])rows, i) + four[i][1];
    }
}
