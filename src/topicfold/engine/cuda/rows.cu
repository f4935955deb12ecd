// SPDX-License-Identifier: BSD-3-Clause
// What the two passes share: rows of weights in registers, and the sum over a list.
//
// Compiled for one number of topics; the loader defines
//   REAL      float or double, the type of parameters and counts
//   WIDTH     columns of packed arrays, a multiple of CHUNK * LANES
//   LANES     threads that share one row of weights
//   UNROLL    rows that a thread has under way at once
//   BLOCKS    blocks that a multiprocessor should hold at once
//
// A warp owns an output row (a document, or a stretch of a word's documents). It is
// cut into 32 / LANES groups; every group takes another non-zero. A thread keeps the
// same WIDTH / LANES topics of the row and of its sum in registers throughout.
// Additions have a fixed order, so results are the same in every run.

typedef REAL real;

#define CHUNK (16 / (int)sizeof(real))
#define GROUPS (32 / LANES)
#define PER_LANE (WIDTH / LANES)
#define CHUNKS (PER_LANE / CHUNK)
#define EVERY_LANE 0xffffffffu
// As in engine/kernels.py: weights below DEAD count as zero, FLOOR keeps ratios finite.
#define DEAD ((real)1e-18)
#define FLOOR ((real)1e-28)

// ---- rows of weights ---------------------------------------------------------------

// Column of a thread's i-th topic: chunks of all lanes lie side by side.
__device__ __forceinline__ int column(int i, int sub)
{
    return (i / CHUNK * LANES + sub) * CHUNK + i % CHUNK;
}

__device__ __forceinline__ void load_row(const real *rows, long long row, int sub,
                                         real (&out)[PER_LANE])
{
    const uint4 *start = (const uint4 *)(rows + row * WIDTH);
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c)
        *(uint4 *)(out + c * CHUNK) = start[c * LANES + sub];
}

// The same for rows that nobody writes meanwhile.
__device__ __forceinline__ void gather_row(const real *rows, int row, int sub,
                                           real (&out)[PER_LANE])
{
    const uint4 *start = (const uint4 *)(rows + (long long)row * WIDTH);
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c)
        *(uint4 *)(out + c * CHUNK) = __ldg(start + c * LANES + sub);
}

// Groups share the work of writing: chunk c is written by group c % GROUPS.
__device__ __forceinline__ void store_row(real *rows, long long row, int sub, int group,
                                          const real (&values)[PER_LANE])
{
    uint4 *start = (uint4 *)(rows + row * WIDTH);
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c)
        if (c % GROUPS == group)
            start[c * LANES + sub] = *(const uint4 *)(values + c * CHUNK);
}

// ---- sums over threads -------------------------------------------------------------

template <typename T> __device__ __forceinline__ T sum_over_lanes(T value)
{
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(EVERY_LANE, value, step);
    return value;
}

__device__ __forceinline__ void sum_over_groups(real (&values)[PER_LANE])
{
#pragma unroll
    for (int step = LANES; step < 32; step *= 2)
#pragma unroll
        for (int i = 0; i < PER_LANE; ++i)
            values[i] += __shfl_xor_sync(EVERY_LANE, values[i], step);
}

__device__ __forceinline__ real ratio(real count, real s)
{
    if (sizeof(real) == 4)
        return __fdividef((float)count, (float)s);
    return count / s;
}

// ---- the heart: s, r and the sum of r b over a list ---------------------------------

// Adds r_j rows[list[j]] to `sum` for j < n, r_j = x_j / (own · row); every group ends
// with the whole sum. Returns this thread's part of Σ x log s.
template <bool LOGLIK>
__device__ __forceinline__ double weighted_sum(const real (&own)[PER_LANE], int n,
                                               const int *list, const real *counts,
                                               const real *rows, int lane,
                                               real (&sum)[PER_LANE])
{
    const int sub = lane % LANES, group = lane / LANES;
    double loglik = 0.0;
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i)
        sum[i] = 0;
    // A thread fetches the numbers of one non-zero of the next 32, ahead of time.
    int mine = sub * GROUPS + group;
    int next_row = mine < n ? __ldg(list + mine) : 0;
    real next_count = mine < n ? __ldg(counts + mine) : (real)0;
    for (int base = 0; base < n; base += 32) {
        const int row = next_row;
        const real count = next_count;
        mine += 32;
        next_row = mine < n ? __ldg(list + mine) : 0;
        next_count = mine < n ? __ldg(counts + mine) : (real)0;
        const int turns = (min(n - base, 32) + GROUPS - 1) / GROUPS;
        real my_s = 1;
        // Turns beyond the end have a count of 0 and add nothing.
        for (int turn = 0; turn < turns; turn += UNROLL) {
            real b[UNROLL][PER_LANE], x[UNROLL], s[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const int other = __shfl_sync(EVERY_LANE, row, turn + u, LANES);
                x[u] = __shfl_sync(EVERY_LANE, count, turn + u, LANES);
                gather_row(rows, other, sub, b[u]);
            }
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                s[u] = 0;
#pragma unroll
                for (int i = 0; i < PER_LANE; ++i)
                    s[u] += own[i] * b[u][i];
            }
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                s[u] = max(sum_over_lanes(s[u]), FLOOR);
                if (LOGLIK && sub == turn + u)
                    my_s = s[u];
                x[u] = ratio(x[u], s[u]);
            }
#pragma unroll
            for (int u = 0; u < UNROLL; ++u)
#pragma unroll
                for (int i = 0; i < PER_LANE; ++i)
                    sum[i] += x[u] * b[u][i];
        }
        if (LOGLIK && count > 0)
            loglik += (double)count * (double)log(my_s);
    }
    sum_over_groups(sum);
    return loglik;
}

// ---- the collapsed link: every token sees counts without its own share ---------------

// α, and the scale and the floor of a token's own share in its word's weight. If SIDED,
// α has a row per document unless its stride is 0, `tilt` rows of documents unless it is
// null, and scale and floor have a row per group of words unless `groups` is null.
struct LeftOut {
    const real *prior, *scale, *floor;
    const real *tilt;
    const int *groups;
    int prior_stride;
};

// Adds x_j q_j to `sum` for j < n, q_j as in engine.protocol; every group ends with the
// whole sum. `own` is the row of a document if OF_DOCUMENT, else that of a word, and
// `place` its number. Returns this thread's part of Σ x log s.
template <bool OF_DOCUMENT, bool SIDED>
__device__ __forceinline__ double collapsed_sum(const real (&own)[PER_LANE], int n,
                                                const int *list, const real *counts,
                                                const real *rows, LeftOut left, int lane,
                                                real (&sum)[PER_LANE], long long place)
{
    const int sub = lane % LANES, group = lane / LANES;
    double loglik = 0.0;
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i)
        sum[i] = 0;
    for (int base = 0; base < n; base += 32) {
        const int mine = base + sub * GROUPS + group;
        const int row = mine < n ? __ldg(list + mine) : 0;
        const real count = mine < n ? __ldg(counts + mine) : (real)0;
        const int turns = (min(n - base, 32) + GROUPS - 1) / GROUPS;
        real my_s = 1;
        // Turns beyond the end have a count of 0 and add nothing.
        for (int turn = 0; turn < turns; ++turn) {
            real b[PER_LANE], q[PER_LANE];
            const int other = __shfl_sync(EVERY_LANE, row, turn, LANES);
            const real x = __shfl_sync(EVERY_LANE, count, turn, LANES);
            gather_row(rows, other, sub, b);
            real s = 0;
#pragma unroll
            for (int i = 0; i < PER_LANE; ++i)
                s += own[i] * b[i];
            s = max(sum_over_lanes(s), FLOOR);
            if (sub == turn)
                my_s = s;
            const real share = ratio(min(x, (real)1), s);
            const real *prior = left.prior, *scale = left.scale, *floor = left.floor;
            const real *tilt = left.tilt;
            if (SIDED) {
                const long long d = OF_DOCUMENT ? place : (long long)other;
                const long long w = OF_DOCUMENT ? (long long)other : place;
                prior += d * left.prior_stride;
                if (tilt)
                    tilt += d * WIDTH;
                if (left.groups) {
                    const long long g = __ldg(left.groups + w);
                    scale += g * WIDTH;
                    floor += g * WIDTH;
                }
            }
            real total = 0;
#pragma unroll
            for (int i = 0; i < PER_LANE; ++i) {
                const int k = column(i, sub);
                const real p = share * own[i] * b[i];
                const real document = OF_DOCUMENT ? own[i] : b[i];
                const real word = OF_DOCUMENT ? b[i] : own[i];
                const real gone = SIDED && tilt ? p * __ldg(tilt + k) : p;
                q[i] = max(document - gone, __ldg(prior + k)) *
                       max(word - p * __ldg(scale + k), __ldg(floor + k));
                total += q[i];
            }
            const real r = ratio(x, max(sum_over_lanes(total), FLOOR));
#pragma unroll
            for (int i = 0; i < PER_LANE; ++i)
                sum[i] += r * q[i];
        }
        if (OF_DOCUMENT && count > 0)
            loglik += (double)count * (double)log(my_s);
    }
    sum_over_groups(sum);
    return loglik;
}
