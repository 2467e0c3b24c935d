/*
 * tests/sight.c - see sight.h.
 */
#include "tests/sight.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

/* Of each kind of sight what it makes of linear red, green and blue. */
static const double SIGHTS[][3][3] = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {{0.152286, 1.052583, -0.204868},
     {0.114503, 0.786281, 0.099216},
     {-0.003882, -0.048116, 1.051998}},
    {{0.367322, 0.860646, -0.227968},
     {0.280085, 0.672501, 0.047413},
     {-0.011820, 0.042940, 0.968881}},
    {{1.255528, -0.076749, -0.178779},
     {-0.078411, 0.930809, 0.147602},
     {0.004733, 0.691367, 0.303900}},
};
#define SIGHT_COUNT (sizeof(SIGHTS) / sizeof(SIGHTS[0]))

static double linear(int value)
{
    double part = value / 255.0;

    return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
}

struct colour sight_colour(int red, int green, int blue)
{
    return (struct colour){{linear(red), linear(green), linear(blue)}};
}

struct colour sight_colour_parse(const char *text)
{
    unsigned red = 0;
    unsigned green = 0;
    unsigned blue = 0;

    VS_ASSERT(sscanf(text, "#%2x%2x%2x", &red, &green, &blue) == 3);
    return sight_colour((int)red, (int)green, (int)blue);
}

static struct colour mixed(const struct colour *c, const double m[3][3])
{
    struct colour out;

    for (int i = 0; i < 3; i++)
        out.v[i] = m[i][0] * c->v[0] + m[i][1] * c->v[1] + m[i][2] * c->v[2];
    return out;
}

static struct colour oklab(const struct colour *c, const double sight[3][3])
{
    static const double LMS[3][3] = {{0.4122214708, 0.5363325363, 0.0514459929},
                                     {0.2119034982, 0.6806995451, 0.1073969566},
                                     {0.0883024619, 0.2817188376, 0.6299787005}};
    static const double LAB[3][3] = {{0.2104542553, 0.7936177850, -0.0040720468},
                                     {1.9779984951, -2.4285922050, 0.4505937099},
                                     {0.0259040371, 0.7827717662, -0.8086757660}};
    struct colour seen = mixed(c, sight);
    struct colour lms;

    for (int i = 0; i < 3; i++)
        seen.v[i] = fmin(1.0, fmax(0.0, seen.v[i]));
    lms = mixed(&seen, LMS);
    for (int i = 0; i < 3; i++)
        lms.v[i] = cbrt(lms.v[i]);
    return mixed(&lms, LAB);
}

double sight_distance(const struct colour *a, const struct colour *b)
{
    double least = 10.0;

    for (size_t s = 0; s < SIGHT_COUNT; s++) {
        struct colour x = oklab(a, SIGHTS[s]);
        struct colour y = oklab(b, SIGHTS[s]);
        double sum = 0.0;

        for (int i = 0; i < 3; i++)
            sum += (x.v[i] - y.v[i]) * (x.v[i] - y.v[i]);
        least = fmin(least, sqrt(sum));
    }
    return least;
}

double sight_luminance(const struct colour *c)
{
    return 0.2126 * c->v[0] + 0.7152 * c->v[1] + 0.0722 * c->v[2];
}
