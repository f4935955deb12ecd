// SPDX-License-Identifier: BSD-3-Clause
// The word pass: a warp for a stretch of a word's documents. See
// tests/engine_reference.py, word_pass. The ratios are computed again from the rows at hand.

#if !COLLAPSED
// A word of one stretch is finished at once; the parts of the others wait in
// `partials` for `join_stretches`.
extern "C" __global__ void __launch_bounds__(128, BLOCKS) word_pass(
    int n_stretches, const long long *stretch_start, const int *stretch_length,
    const int *stretch_word, const int *stretch_slot, const int *documents,
    const real *counts, const gathered *rows, const real *weights, real *partials,
    real *out)
{
    const int lane = threadIdx.x % 32, sub = lane % LANES, group = lane / LANES;
    const int n_warps = gridDim.x * (blockDim.x / 32);
    int q = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    for (; q < n_stretches; q += n_warps) {
        const long long start = stretch_start[q];
        const int word = stretch_word[q], slot = stretch_slot[q];
        real b[PER_LANE], sum[PER_LANE];
        load_row(weights, word, sub, b);
        weighted_sum<false>(b, stretch_length[q], documents + start, counts + start,
                            rows, lane, sum);
        if (slot >= 0) {
            store_row(partials, slot, sub, group, sum);
            continue;
        }
#pragma unroll
        for (int i = 0; i < PER_LANE; ++i)
            sum[i] *= b[i];
        store_row(out, word, sub, group, sum);
    }
}

#endif

#if COLLAPSED
// The same for the collapsed link, whose sums are the counts themselves.
template <bool SIDED>
__device__ __forceinline__ void collapsed_word_rows(
    int n_stretches, const long long *stretch_start, const int *stretch_length,
    const int *stretch_word, const int *stretch_slot, const int *documents,
    const real *counts, const gathered *rows, real unit, const real *weights,
    LeftOut left, real *partials, real *out)
{
    const int lane = threadIdx.x % 32, sub = lane % LANES, group = lane / LANES;
    const int n_warps = gridDim.x * (blockDim.x / 32);
    int q = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    for (; q < n_stretches; q += n_warps) {
        const long long start = stretch_start[q];
        const int word = stretch_word[q], slot = stretch_slot[q];
        real b[PER_LANE], sum[PER_LANE];
        load_row(weights, word, sub, b);
#if !HALF
        if (SIDED)
            sided_sum<false>(b, stretch_length[q], documents + start, counts + start,
                             rows, left, lane, sum, word);
        else
#endif
            collapsed_sum<false>(b, stretch_length[q], documents + start,
                                 counts + start, rows, unit, left, lane, sum);
        if (slot >= 0)
            store_row(partials, slot, sub, group, sum);
        else
            store_row(out, word, sub, group, sum);
    }
}

#define COLLAPSED_KERNEL(NAME, SIDED)                                                   \
    extern "C" __global__ void __launch_bounds__(128, BLOCKS) NAME(           \
        int n_stretches, const long long *stretch_start, const int *stretch_length,     \
        const int *stretch_word, const int *stretch_slot, const int *documents,         \
        const real *counts, const gathered *rows, real unit, const real *weights,       \
        const real *prior, const real *scale, const real *floor, const real *tilt,      \
        const int *groups, int prior_stride, real *partials, real *out)                 \
    {                                                                                   \
        const LeftOut left = {prior, scale, floor, tilt, groups, prior_stride};         \
        collapsed_word_rows<SIDED>(n_stretches, stretch_start, stretch_length,          \
                                   stretch_word, stretch_slot, documents, counts, rows, \
                                   unit, weights, left, partials, out);                 \
    }

COLLAPSED_KERNEL(word_pass_collapsed, false)
#if !HALF
COLLAPSED_KERNEL(word_pass_sided, true)
#endif
#endif

// One block of (32, 8) threads for 32 topics of a word with several stretches. The sum
// is multiplied by the word's weights unless it holds the counts themselves.
extern "C" __global__ void join_stretches(const int *words, const int *slots,
                                          const real *partials, const real *weights,
                                          int are_counts, real *out)
{
    __shared__ double parts[8][32];
    const int word = words[blockIdx.x];
    const int k = blockIdx.y * 32 + threadIdx.x;
    double total = 0.0;
    if (k < WIDTH)
        for (int q = slots[blockIdx.x] + threadIdx.y; q < slots[blockIdx.x + 1]; q += 8)
            total += (double)partials[(long long)q * WIDTH + k];
    parts[threadIdx.y][threadIdx.x] = total;
    __syncthreads();
    if (threadIdx.y == 0 && k < WIDTH) {
        for (int y = 1; y < 8; ++y)
            total += parts[y][threadIdx.x];
        const long long place = (long long)word * WIDTH + k;
        out[place] = (real)(are_counts ? total : total * (double)weights[place]);
    }
}

// The document of every non-zero, a warp for a document.
extern "C" __global__ void list_documents(long long n_documents, const long long *indptr,
                                          int *out)
{
    const long long n_warps = (long long)gridDim.x * (blockDim.x / 32);
    long long d = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    for (; d < n_documents; d += n_warps)
        for (long long p = indptr[d] + threadIdx.x % 32; p < indptr[d + 1]; p += 32)
            out[p] = (int)d;
}

// Documents and counts word by word, from where each non-zero is among the documents'.
extern "C" __global__ void arrange_words(int n, const int *order, const int *rows,
                                         const real *counts, int *out_documents,
                                         real *out_counts)
{
    for (int j = blockIdx.x * blockDim.x + threadIdx.x; j < n;
         j += gridDim.x * blockDim.x) {
        const int p = order[j];
        out_documents[j] = __ldg(rows + p);
        out_counts[j] = __ldg(counts + p);
    }
}

// Where each tile of documents begins in the sorted lists of the first words.
extern "C" __global__ void find_tiles(int n_words, int n_tiles, long long tile,
                                      const long long *word_ptr, const int *documents,
                                      long long *out)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n_words * (n_tiles + 1))
        return;
    const long long border = (i % (n_tiles + 1)) * tile;
    long long low = word_ptr[i / (n_tiles + 1)], high = word_ptr[i / (n_tiles + 1) + 1];
    while (low < high) {
        const long long middle = (low + high) / 2;
        if (documents[middle] < border)
            low = middle + 1;
        else
            high = middle;
    }
    out[i] = low;
}
