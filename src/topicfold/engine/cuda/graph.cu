// SPDX-License-Identifier: BSD-3-Clause
// Sums over the edges of the document graph: a warp for a document, threads over
// topics, edges in their order. The loader defines REAL and WIDTH.

typedef REAL real;

#define EVERY_LANE 0xffffffffu
#define PER_LANE ((WIDTH + 31) / 32)

// out = W theta; see steps.graph.neighbor_sums.
extern "C" __global__ void neighbor_sums(int n_documents, const long long *indptr,
                                         const int *indices, const real *weights,
                                         const real *theta, real *out)
{
    const int lane = threadIdx.x % 32;
    const int i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (i >= n_documents)
        return;
    real sum[PER_LANE];
#pragma unroll
    for (int p = 0; p < PER_LANE; ++p)
        sum[p] = 0;
    for (long long e = indptr[i]; e < indptr[i + 1]; ++e) {
        const real w = weights[e];
        const real *other = theta + (long long)indices[e] * WIDTH;
#pragma unroll
        for (int p = 0; p < PER_LANE; ++p)
            if (lane + 32 * p < WIDTH)
                sum[p] += w * __ldg(other + lane + 32 * p);
    }
#pragma unroll
    for (int p = 0; p < PER_LANE; ++p)
        if (lane + 32 * p < WIDTH)
            out[(long long)i * WIDTH + lane + 32 * p] = sum[p];
}

// Σ_{j>i} W_ij (a_i − a_j)·(b_i − b_j) of each document i.
extern "C" __global__ void edge_products(int n_documents, const long long *indptr,
                                         const int *indices, const real *weights,
                                         const real *first, const real *second,
                                         double *out)
{
    const int lane = threadIdx.x % 32;
    const int i = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (i >= n_documents)
        return;
    const real *a = first + (long long)i * WIDTH, *b = second + (long long)i * WIDTH;
    double total = 0.0;
    for (long long e = indptr[i]; e < indptr[i + 1]; ++e) {
        const long long j = indices[e];
        if (j <= i)
            continue;
        real part = 0;
        for (int k = lane; k < WIDTH; k += 32)
            part += (a[k] - __ldg(first + j * WIDTH + k))
                * (b[k] - __ldg(second + j * WIDTH + k));
        total += (double)weights[e] * (double)part;
    }
    for (int step = 16; step > 0; step /= 2)
        total += __shfl_xor_sync(EVERY_LANE, total, step);
    if (lane == 0)
        out[i] = total;
}
