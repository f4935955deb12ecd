// SPDX-License-Identifier: BSD-3-Clause
// ---- special functions, as in engine/special.py ------------------------------------

__device__ double reciprocal_ladder(double x)
{
    const double q = x * x + 9.0 * x;
    const double rungs = 1.0 / q + 1.0 / (q + 8.0) + 1.0 / (q + 14.0);
    return (2.0 * x + 9.0) * (rungs + 1.0 / (q + 18.0) + 1.0 / (q + 20.0));
}

__device__ double exp_digamma_large(double y)
{
    const double z = y - 0.5;
    const double u = 1.0 / (z * z);
    double series = 10313.0 / 2903040.0 - u * (5509121.0 / 1393459200.0);
    series = -37.0 / 5760.0 + u * series;
    return z * (1.0 + u * (1.0 / 24.0 + u * series));
}

__device__ double exp_digamma(double x)
{
    x = fmax(x, 1e-9);
    return exp_digamma_large(x + 10.0) * exp(-reciprocal_ladder(x));
}

__device__ double digamma(double x)
{
    x = fmax(x, 1e-9);
    return log(exp_digamma_large(x + 10.0)) - reciprocal_ladder(x);
}

// In single precision where the weights are: the ladder loses nothing that a weight
// could hold, and a fit spends its time here.
__device__ float exp_digamma(float x)
{
    x = fmaxf(x, 1e-9f);
    const float q = x * x + 9.0f * x;
    // The first rung alone can be large; the others are below 10 in sum.
    const float rungs = __fdividef(1.0f, q + 8.0f) + __fdividef(1.0f, q + 14.0f)
        + __fdividef(1.0f, q + 18.0f) + __fdividef(1.0f, q + 20.0f);
    const float ladder = (2.0f * x + 9.0f) * (1.0f / q + rungs);
    const float z = x + 9.5f;
    const float u = __fdividef(1.0f, z * z);
    const float series = 1.0f / 24.0f + u * (-37.0f / 5760.0f);
    return z * (1.0f + u * series) * expf(-ladder);
}
