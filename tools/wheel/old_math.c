/*
 * tools/wheel/old_math.c - functions of libm under their versions from before glibc 2.29.
 *
 * For:            the wheel, whose root has glibc 2.31: everything is linked with --wrap of these names, so that it
 *                 runs on glibc 2.28, too.
 * Must not know:  who calls them.
 * Invariant:      the old versions compute what the new ones do; they only set errno by another way (_LIB_VERSION).
 */
#define OLD(name) __asm__(".symver old_" #name "," #name "@GLIBC_2.2.5")
#define OF_ONE(name)                                                                               \
    OLD(name);                                                                                     \
    double old_##name(double x);                                                                   \
    double __wrap_##name(double x);                                                                \
    double __wrap_##name(double x)                                                                 \
    {                                                                                              \
        return old_##name(x);                                                                      \
    }

OF_ONE(exp)
OF_ONE(exp2)
OF_ONE(log)
OF_ONE(log2)

OLD(pow);
double old_pow(double x, double y);
double __wrap_pow(double x, double y);
double __wrap_pow(double x, double y)
{
    return old_pow(x, y);
}
