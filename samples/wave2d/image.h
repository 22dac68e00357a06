/* image.h: pictures of a field. */
#ifndef IMAGE_H
#define IMAGE_H

#include "grid.h"

/* Writes the field as a binary PPM: crests red, troughs blue, the medium in grey. `peak` maps to full colour.
 * 0, or -1 where the file cannot be written (errno says why). */
int image_write(const char *path, const grid *g, float peak);

#endif
