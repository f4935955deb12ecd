// SPDX-License-Identifier: BSD-3-Clause
// Topics from counts, and sums over rows in float64 with a fixed order of addition.
// The loader defines REAL, WIDTH and N_TOPICS, the columns in use.

typedef REAL real;

#define EVERY_LANE 0xffffffffu
#define DEAD ((real)1e-18)
#define SUM_ROWS 2048
#define SUM_VALUES 8192

// out = max(counts + prior, 0) scale, or exp ψ(counts + prior) scale; a negative scale
// marks a topic without counts, which becomes uniform. Padding becomes zero.
extern "C" __global__ void scale_topics(long long n_entries, const real *counts,
                                        double prior, const double *scale,
                                        double uniform, int by_digamma, real *out)
{
    const long long step = (long long)gridDim.x * blockDim.x;
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < n_entries; i += step) {
        const int k = (int)(i % WIDTH);
        double value = 0.0;
        if (k < N_TOPICS) {
            const double factor = __ldg(scale + k);
            const double count = (double)counts[i] + prior;
            value = factor < 0.0 ? uniform
                : (by_digamma ? exp_digamma(count) : count) * factor;
        }
        out[i] = value > 1e-18 ? (real)value : (real)0;
    }
}

// Totals become scales: -1 marks a topic without counts.
extern "C" __global__ void invert_totals(int n, double added, double *totals)
{
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n) {
        const double total = totals[k] + added;
        totals[k] = total > 0 ? 1.0 / total : -1.0;
    }
}

// A warp for a row of N_TOPICS: engine/kernels.py, extrapolate_rows, without padding.
extern "C" __global__ void extrapolate_rows(long long n_rows, const real *now,
                                            long long now_width, const real *before,
                                            long long before_width, double beta,
                                            double floor, double least,
                                            int keeps_totals, real *out,
                                            long long out_width)
{
    const int lane = threadIdx.x % 32;
    const long long n_warps = (long long)gridDim.x * (blockDim.x / 32);
    long long d = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    for (; d < n_rows; d += n_warps) {
        const real *a = now + d * now_width, *b = before + d * before_width;
        double total = 0, reached = 0;
        for (int k = lane; k < N_TOPICS; k += 32)
            total += a[k];
        for (int step = 16; step > 0; step /= 2)
            total += __shfl_xor_sync(EVERY_LANE, total, step);
        const double whole = keeps_totals ? floor * total : floor;
        const real bottom = total > 0 ? (real)whole : (real)0;
        const real step = (real)beta, part = (real)least;
        real scale = 1;
        if (keeps_totals && beta > 0) {
            for (int k = lane; k < N_TOPICS; k += 32)
                reached += max(a[k] + step * (a[k] - b[k]), max(part * a[k], bottom));
            for (int step = 16; step > 0; step /= 2)
                reached += __shfl_xor_sync(EVERY_LANE, reached, step);
            scale = reached > 0 ? (real)(total / reached) : (real)1;
        }
        // `out` may be `before`: a thread writes what it alone reads.
        for (int k = lane; k < N_TOPICS; k += 32)
            out[d * out_width + k] =
                scale * max(a[k] + step * (a[k] - b[k]), max(part * a[k], bottom));
    }
}

// ---- sums over rows ----------------------------------------------------------------

enum { TOTAL, LOG, DIGAMMA_OF, TOPIC_BOUND, CLIPPED };

__device__ __forceinline__ double summand(int mode, real entry, double prior)
{
    const double value = (double)entry + prior;
    if (mode == TOTAL)
        return (double)entry;
    if (mode == LOG)
        return (double)log(max((real)value, DEAD));
    if (mode == DIGAMMA_OF)
        return digamma(value);
    if (mode == TOPIC_BOUND)
        return lgamma(value) - (double)entry * digamma(value);
    return fmax(value, 0.0);
}

// Blocks of (32, 8) threads; block (x, y) sums SUM_ROWS rows of 32 topics.
extern "C" __global__ void column_sums(int mode, long long n_rows, const real *rows,
                                       const double *prior, double *out)
{
    __shared__ double parts[8][32];
    const int k = blockIdx.y * 32 + threadIdx.x;
    const long long first = (long long)blockIdx.x * SUM_ROWS;
    const long long last = min(first + SUM_ROWS, n_rows);
    double total = 0.0;
    if (k < N_TOPICS) {
        const double own = prior[k];
        for (long long r = first + threadIdx.y; r < last; r += 8)
            total += summand(mode, rows[r * WIDTH + k], own);
    }
    parts[threadIdx.y][threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.y == 0 && k < N_TOPICS) {
        for (int y = 1; y < 8; ++y)
            total += parts[y][threadIdx.x];
        out[(long long)blockIdx.x * N_TOPICS + k] = total;
    }
}

// One block of 256 threads for a column: sums the rows of `parts`.
extern "C" __global__ void join_sums(long long n_rows, int n_columns,
                                     const double *parts, double *out)
{
    __shared__ double shared[256];
    double total = 0.0;
    for (long long r = threadIdx.x; r < n_rows; r += 256)
        total += parts[r * n_columns + blockIdx.x];
    shared[threadIdx.x] = total;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step)
            shared[threadIdx.x] += shared[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = shared[0];
}

// Blocks of 256 threads; a block sums SUM_VALUES values.
extern "C" __global__ void vector_sums(long long n_values, const double *values,
                                       double *out)
{
    __shared__ double shared[256];
    const long long first = (long long)blockIdx.x * SUM_VALUES;
    const long long last = min(first + SUM_VALUES, n_values);
    double total = 0.0;
    for (long long i = first + threadIdx.x; i < last; i += 256)
        total += values[i];
    shared[threadIdx.x] = total;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step)
            shared[threadIdx.x] += shared[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = shared[0];
}

// Σ_k ln Γ(γ_k) + (α_k − γ_k)(ψ(γ_k) − ψ(Σγ)) − ln Γ(Σγ), a warp for a document.
extern "C" __global__ void dirichlet_bound(long long n_documents, const real *parameters,
                                           const double *prior, double *out)
{
    const int lane = threadIdx.x % 32;
    const long long n_warps = (long long)gridDim.x * (blockDim.x / 32);
    long long d = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    for (; d < n_documents; d += n_warps) {
        double total = 0.0, inner = 0.0, excess = 0.0;
        for (int k = lane; k < N_TOPICS; k += 32) {
            const double gamma = (double)parameters[d * WIDTH + k];
            const double more = __ldg(prior + k) - gamma;
            total += gamma;
            excess += more;
            inner += lgamma(gamma) + more * digamma(gamma);
        }
        for (int step = 16; step > 0; step /= 2) {
            total += __shfl_xor_sync(EVERY_LANE, total, step);
            inner += __shfl_xor_sync(EVERY_LANE, inner, step);
            excess += __shfl_xor_sync(EVERY_LANE, excess, step);
        }
        if (lane == 0)
            out[d] = inner - excess * digamma(total) - lgamma(total);
    }
}
