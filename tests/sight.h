/*
 * tests/sight.h - how different two colours look, with normal sight and with each kind of colour blindness.
 *
 * For:            the tests of palettes.
 * Must not know:  what is coloured.
 * Invariant:      the distance of two colours is that of the sight which tells them apart worst.
 *
 * Distances are Euclidean in OKLab (Ottosson, 2020), where 0.02 is about what is just noticed. Colour blindness is
 * simulated as in Machado, Oliveira and Fernandes (2009), at full severity: protanopia, deuteranopia, tritanopia.
 */
#ifndef TESTS_SIGHT_H
#define TESTS_SIGHT_H

/* Linear red, green and blue, 0 to 1. */
struct colour {
    double v[3];
};

/* Of red, green and blue from 0 to 255, as sRGB. */
struct colour sight_colour(int red, int green, int blue);
/* Of "#rrggbb". */
struct colour sight_colour_parse(const char *text);
/* The smallest distance of two colours over all kinds of sight. */
double sight_distance(const struct colour *a, const struct colour *b);
/* Relative luminance, as contrast is defined in WCAG 2; 0 to 1. */
double sight_luminance(const struct colour *c);

#endif
