// SPDX-License-Identifier: BSD-3-Clause
// The orthogonal φ-step: one topic after another, so one block of 1024 threads over
// words. See steps.orthogonal.update_topics, whose arithmetic this follows.
// The loader defines REAL.

typedef REAL real;

#define THREADS 1024
#define EVERY_LANE 0xffffffffu
#define ROOT_TOL 1e-13
#define MAX_NEWTON 60

// Sums of two values, or their sum and minimum, over the block, in every thread.
template <bool MINIMUM>
__device__ void join(double &first, double &second, double *shared)
{
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int turn = 0; turn < 2; ++turn) {
        for (int step = 16; step > 0; step /= 2) {
            const double a = __shfl_xor_sync(EVERY_LANE, first, step);
            const double b = __shfl_xor_sync(EVERY_LANE, second, step);
            first += a;
            second = MINIMUM ? fmin(second, b) : second + b;
        }
        if (turn == 1)
            return;
        __syncthreads();
        if (lane == 0) {
            shared[warp] = first;
            shared[32 + warp] = second;
        }
        __syncthreads();
        first = shared[lane];
        second = shared[32 + lane];
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    update_topics(int n_topics, int n_words, const real *counts, double strength,
                  real *topics, double *total, double *work_overlap)
{
    __shared__ double shared[64];
    for (int k = 0; k < n_topics; ++k) {
        const real *own = counts + (long long)k * n_words;
        real *phi = topics + (long long)k * n_words;
        double mass = 0.0, least = 1e300;
        for (int w = threadIdx.x; w < n_words; w += THREADS) {
            const double overlap = fmax(total[w] - (double)phi[w], 0.0);
            work_overlap[w] = overlap;
            if (own[w] > 0) {
                mass += (double)own[w];
                least = fmin(least, overlap);
            }
        }
        join<true>(mass, least, shared);
        if (mass <= 0.0)
            continue;
        double low = 0.0, high = mass, t = mass, unused = 0.0;
        for (int w = threadIdx.x; w < n_words; w += THREADS)
            if (own[w] > 0 && work_overlap[w] == least)
                low += (double)own[w];
        join<false>(low, unused, shared);
        for (int turn = 0; turn < MAX_NEWTON; ++turn) {
            double sum1 = 0.0, sum2 = 0.0;
            for (int w = threadIdx.x; w < n_words; w += THREADS)
                if (own[w] > 0) {
                    const double inverse =
                        1.0 / (t + strength * (work_overlap[w] - least));
                    const double part = (double)own[w] * inverse;
                    sum1 += part;
                    sum2 += part * inverse;
                }
            join<false>(sum1, sum2, shared);
            if (fabs(sum1 - 1.0) <= ROOT_TOL)
                break;
            if (sum1 > 1.0)
                low = fmax(low, t);
            else
                high = fmin(high, t);
            double following = t + (sum1 - 1.0) * sum1 / sum2;
            if (!(low <= following && following <= high))
                following = 0.5 * (low + high);
            if (following == t)
                break;
            t = following;
        }
        for (int w = threadIdx.x; w < n_words; w += THREADS) {
            double value = 0.0;
            if (own[w] > 0)
                value = (double)own[w] / (t + strength * (work_overlap[w] - least));
            phi[w] = (real)value;
            total[w] = work_overlap[w] + (double)phi[w];
        }
    }
}
