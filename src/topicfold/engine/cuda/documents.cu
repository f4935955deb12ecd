// SPDX-License-Identifier: BSD-3-Clause
// The document pass: a warp for a document. See tests/engine_reference.py, document_pass.

__device__ __forceinline__ double log_total(real total)
{
#if HALF
    return (double)logf(max(total, FLOOR));
#else
    return log(fmax((double)total, 1e-28));
#endif
}

#if !COLLAPSED
__device__ __forceinline__ void weights_of(const real (&row)[PER_LANE], bool by_digamma,
                                           real (&out)[PER_LANE])
{
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i)
        out[i] = by_digamma ? (real)exp_digamma(row[i]) : row[i];
}

// Sets row = max(a·sum·tilt + prior, 0) and returns the change of its shares. Without a
// tilt it is one.
__device__ __forceinline__ real update_row(real (&row)[PER_LANE],
                                           const real (&a)[PER_LANE],
                                           real (&sum)[PER_LANE], const real *prior,
                                           const real *tilt, int sub)
{
    real old_total = 0, new_total = 0;
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i) {
        old_total += row[i];
        const int k = column(i, sub);
        const real own = __ldg(prior + k);
        if (tilt)
            sum[i] = max(a[i] * sum[i] * __ldg(tilt + k) + own, (real)0);
        else
            sum[i] = max(a[i] * sum[i] + own, (real)0);
        new_total += sum[i];
    }
    old_total = sum_over_lanes(old_total);
    new_total = sum_over_lanes(new_total);
    const real old_scale = (real)1 / max(old_total, FLOOR);
    const real new_scale = (real)1 / max(new_total, FLOOR);
    const real dead = DEAD * new_total;
    real change = 0;
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i) {
        change += fabs(sum[i] * new_scale - row[i] * old_scale);
        row[i] = sum[i] > dead ? sum[i] : (real)0;
    }
    return sum_over_lanes(change);
}

template <bool DIGAMMA, bool UPDATES>
__device__ __forceinline__ void document_rows(
    long long n_documents, const long long *indptr, const int *indices,
    const real *counts, real *parameters, const gathered *weights, const real *prior,
    int prior_stride, const real *tilt, int max_updates, double tol,
    const double *lengths, gathered *out_weights, real *out_counts,
    double *out_loglik, int *out_updates)
{
    const int lane = threadIdx.x % 32, sub = lane % LANES, group = lane / LANES;
    const long long n_warps = (long long)gridDim.x * (blockDim.x / 32);
    long long d = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    for (; d < n_documents; d += n_warps) {
        const long long start = __ldg(indptr + d);
        const int n = (int)(__ldg(indptr + d + 1) - start);
        const int *list = indices + start;
        const real *own = counts + start;
        real row[PER_LANE], a[PER_LANE], sum[PER_LANE];
        load_row(parameters, d, sub, row);
        weights_of(row, DIGAMMA, a);
        int updates = 0;
        while (UPDATES && updates < max_updates) {
            weighted_sum<false>(a, n, list, own, weights, lane, sum);
            const real change = update_row(row, a, sum, prior + d * prior_stride,
                                           tilt ? tilt + d * WIDTH : tilt, sub);
            weights_of(row, DIGAMMA, a);
            ++updates;
            if (change <= (real)tol)
                break;
        }
        if (UPDATES)
            store_row(parameters, d, sub, group, row);
        logsum loglik = weighted_sum<true>(a, n, list, own, weights, lane, sum);
        real total = 0;
#pragma unroll
        for (int i = 0; i < PER_LANE; ++i) {
            total += row[i];
            const real count = a[i] * sum[i];
            sum[i] = count > DEAD ? count : (real)0;
        }
        store_row(out_counts, d, sub, group, sum);
#if HALF
        store_gathered(out_weights, d, sub, group, row_unit(a), a);
#else
        if (DIGAMMA)
            store_row(out_weights, d, sub, group, a);
#endif
        total = sum_over_lanes(total);
        loglik = sum_over_warp(loglik);
        if (lane == 0) {
            const double norm = DIGAMMA ? digamma((double)total) : log_total(total);
            out_loglik[d] = (double)loglik - lengths[d] * norm;
            if (UPDATES)
                out_updates[d] = updates;
        }
    }
}

#define DOCUMENT_KERNEL(NAME, DIGAMMA, UPDATES)                                         \
    extern "C" __global__ void __launch_bounds__(128, BLOCKS) NAME(                     \
        long long n_documents, const long long *indptr, const int *indices,             \
        const real *counts, real *parameters, const gathered *weights,                  \
        const real *prior, int prior_stride, const real *tilt, int max_updates,         \
        double tol, const double *lengths, gathered *out_weights, real *out_counts,     \
        double *out_loglik, int *out_updates)                                           \
    {                                                                                   \
        document_rows<DIGAMMA, UPDATES>(n_documents, indptr, indices, counts,           \
                                        parameters, weights, prior, prior_stride, tilt, \
                                        max_updates, tol, lengths, out_weights,         \
                                        out_counts, out_loglik, out_updates);           \
    }

DOCUMENT_KERNEL(document_pass, false, false)
DOCUMENT_KERNEL(document_pass_digamma, true, false)
#if !HALF
DOCUMENT_KERNEL(document_pass_updates, false, true)
DOCUMENT_KERNEL(document_pass_digamma_updates, true, true)
#endif
#endif

#if COLLAPSED

// `unit` is what the gathered words were multiplied by, `own_unit` what documents are.
template <bool SIDED>
__device__ __forceinline__ void collapsed_document_rows(
    long long n_documents, const long long *indptr, const int *indices,
    const real *counts, const real *parameters, const gathered *weights,
    const real *unit, real own_unit, LeftOut left, const double *lengths,
    gathered *out_weights, real *out_counts, double *out_loglik)
{
    const int lane = threadIdx.x % 32, sub = lane % LANES, group = lane / LANES;
    const long long n_warps = (long long)gridDim.x * (blockDim.x / 32);
    const real words_unit = unit ? __ldg(unit) : (real)1;
    long long d = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    for (; d < n_documents; d += n_warps) {
        const long long start = indptr[d];
        const int n = (int)(indptr[d + 1] - start);
        real row[PER_LANE], sum[PER_LANE];
        load_row(parameters, d, sub, row);
        logsum loglik;
#if !HALF
        if (SIDED)
            loglik = sided_sum<true>(row, n, indices + start, counts + start, weights,
                                     left, lane, sum, d);
        else
#endif
            loglik = collapsed_sum<true>(row, n, indices + start, counts + start,
                                         weights, words_unit, left, lane, sum);
        store_row(out_counts, d, sub, group, sum);
#if HALF
        store_gathered(out_weights, d, sub, group, own_unit, row);
#endif
        real total = 0;
#pragma unroll
        for (int i = 0; i < PER_LANE; ++i)
            total += row[i];
        total = sum_over_lanes(total);
        loglik = sum_over_warp(loglik);
        if (lane == 0)
            out_loglik[d] = (double)loglik - lengths[d] * log_total(total);
    }
}

#define COLLAPSED_KERNEL(NAME, SIDED)                                                   \
    extern "C" __global__ void __launch_bounds__(128, BLOCKS) NAME(           \
        long long n_documents, const long long *indptr, const int *indices,             \
        const real *counts, const real *parameters, const gathered *weights,            \
        const real *unit, real own_unit, const real *prior, const real *scale,          \
        const real *floor, const real *tilt, const int *groups, int prior_stride,       \
        const double *lengths, gathered *out_weights, real *out_counts,                 \
        double *out_loglik)                                                             \
    {                                                                                   \
        const LeftOut left = {prior, scale, floor, tilt, groups, prior_stride};         \
        collapsed_document_rows<SIDED>(n_documents, indptr, indices, counts,            \
                                       parameters, weights, unit, own_unit, left,       \
                                       lengths, out_weights, out_counts, out_loglik);   \
    }

COLLAPSED_KERNEL(document_pass_collapsed, false)
#if !HALF
COLLAPSED_KERNEL(document_pass_sided, true)
#endif
#endif

#if HALF
// Rows times the power of two that brings the largest number, *top, near 2^14.
extern "C" __global__ void narrow_rows(long long n_pairs, const float2 *rows,
                                       const real *top, unsigned *out, real *out_unit)
{
    const real unit = unit_of(*top);
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0)
        *out_unit = unit;
    for (; i < n_pairs; i += (long long)gridDim.x * blockDim.x)
        out[i] = narrow_pair(rows[i].x * unit, rows[i].y * unit);
}
#endif
