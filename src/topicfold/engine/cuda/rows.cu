// SPDX-License-Identifier: BSD-3-Clause
// What the two passes share: rows of weights in registers, and the sum over a list.
//
// Compiled for one number of topics; the loader defines
//   REAL      float or double, the type of parameters and counts
//   HALF      1 if the rows that are gathered are stored in half precision
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

#if HALF
typedef unsigned short gathered;
#else
typedef real gathered;
#endif

// A thread gathers 16 bytes at a time: so many topics, PIECES times 16 bytes of reals.
#define CHUNK (16 / (int)sizeof(gathered))
#define PIECES (CHUNK * (int)sizeof(real) / 16)
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
#pragma unroll
        for (int p = 0; p < PIECES; ++p)
            *(uint4 *)(out + (c * PIECES + p) * (CHUNK / PIECES)) =
                start[(c * LANES + sub) * PIECES + p];
}

// Groups share the work of writing: chunk c is written by group c % GROUPS.
__device__ __forceinline__ void store_row(real *rows, long long row, int sub, int group,
                                          const real (&values)[PER_LANE])
{
    uint4 *start = (uint4 *)(rows + row * WIDTH);
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c)
        if (c % GROUPS == group)
#pragma unroll
            for (int p = 0; p < PIECES; ++p)
                start[(c * LANES + sub) * PIECES + p] =
                    *(const uint4 *)(values + (c * PIECES + p) * (CHUNK / PIECES));
}

// A gathered row as it comes, which nobody writes meanwhile, and its numbers.
struct Raw {
    uint4 chunks[CHUNKS];
};

__device__ __forceinline__ void gather_row(const gathered *rows, int row, int sub,
                                           Raw &out)
{
    const uint4 *start = (const uint4 *)(rows + (long long)row * WIDTH);
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c)
        out.chunks[c] = __ldg(start + c * LANES + sub);
}

#if HALF
__device__ __forceinline__ void widen_pair(unsigned pair, real &low, real &high)
{
    asm volatile("{.reg .f16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b;}"
        : "=f"(low), "=f"(high)
        : "r"(pair));
}

// To nearest; what is too large becomes the largest half.
__device__ __forceinline__ unsigned narrow_pair(real low, real high)
{
    unsigned pair;
    asm("{.reg .f16 a, b; cvt.rn.f16.f32 a, %1; cvt.rn.f16.f32 b, %2; mov.b32 %0, {a, b};}"
        : "=r"(pair)
        : "f"(min(low, 65504.f)), "f"(min(high, 65504.f)));
    return pair;
}

__device__ __forceinline__ void widen(const Raw &raw, real (&out)[PER_LANE])
{
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
        const uint4 v = raw.chunks[c];
        real *to = out + c * CHUNK;
        widen_pair(v.x, to[0], to[1]);
        widen_pair(v.y, to[2], to[3]);
        widen_pair(v.z, to[4], to[5]);
        widen_pair(v.w, to[6], to[7]);
    }
}

// Stores a row times `unit`, to be gathered by the other pass.
__device__ __forceinline__ void store_gathered(gathered *rows, long long row, int sub,
                                               int group, real unit,
                                               const real (&values)[PER_LANE])
{
    uint4 *start = (uint4 *)(rows + row * WIDTH);
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c)
        if (c % GROUPS == group) {
            const real *v = values + c * CHUNK;
            start[c * LANES + sub] = make_uint4(
                narrow_pair(v[0] * unit, v[1] * unit), narrow_pair(v[2] * unit, v[3] * unit),
                narrow_pair(v[4] * unit, v[5] * unit), narrow_pair(v[6] * unit, v[7] * unit));
        }
}

// The power of two that brings the largest number of a row near 2^14: a half has ten
// bits from 2^-14 to 2^15, and fewer below.
__device__ __forceinline__ real unit_of(real top)
{
    return top > 0 ? exp2f((real)min(14 - ilogbf(top), 120)) : (real)1;
}

// That of a row, for all its lanes.
__device__ __forceinline__ real row_unit(const real (&row)[PER_LANE])
{
    real top = 0;
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i)
        top = max(top, row[i]);
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
        top = max(top, __shfl_xor_sync(EVERY_LANE, top, step));
    return unit_of(top);
}
#else
__device__ __forceinline__ void widen(const Raw &raw, real (&out)[PER_LANE])
{
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c)
        *(uint4 *)(out + c * CHUNK) = raw.chunks[c];
}
#endif

// ---- sums over threads -------------------------------------------------------------

template <typename T> __device__ __forceinline__ T sum_over_lanes(T value)
{
#pragma unroll
    for (int step = LANES / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(EVERY_LANE, value, step);
    return value;
}

// Sums of UNROLL values over lanes; a thread gets that of number `sub % UNROLL`. Threads
// first exchange values, so that each adds up one of them.
__device__ __forceinline__ real own_sum_over_lanes(real (&values)[UNROLL], int sub)
{
#pragma unroll
    for (int step = 1, left = UNROLL / 2; left > 0; step *= 2, left /= 2) {
        const bool upper = sub & step;
#pragma unroll
        for (int i = 0; i < UNROLL / 2; ++i)
            if (i < left) {
                const real gone = upper ? values[2 * i] : values[2 * i + 1];
                const real kept = upper ? values[2 * i + 1] : values[2 * i];
                values[i] = kept + __shfl_xor_sync(EVERY_LANE, gone, step);
            }
    }
#pragma unroll
    for (int step = UNROLL; step < LANES; step *= 2)
        values[0] += __shfl_xor_sync(EVERY_LANE, values[0], step);
    return values[0];
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

// Logarithms and what is added up of them in a document: in half precision, float is
// precise enough.
#if HALF
typedef float logsum;
__device__ __forceinline__ float log_of(real s) { return __logf(s); }
#else
typedef double logsum;
__device__ __forceinline__ double log_of(real s) { return (double)log(s); }
#endif

template <typename T> __device__ __forceinline__ T sum_over_warp(T value)
{
#pragma unroll
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(EVERY_LANE, value, step);
    return value;
}

// ---- the heart: s, r and the sum of r b over a list ---------------------------------

// Adds r_j rows[list[j]] to `sum` for j < n, r_j = x_j / (own · row); every group ends
// with the whole sum. Returns this thread's part of Σ x log s.
template <bool LOGLIK>
__device__ __forceinline__ logsum weighted_sum(const real (&own)[PER_LANE], int n,
                                               const int *list, const real *counts,
                                               const gathered *rows, int lane,
                                               real (&sum)[PER_LANE])
{
    const int sub = lane % LANES, group = lane / LANES;
    logsum loglik = 0;
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
            Raw raw[UNROLL];
            real s[UNROLL], b[UNROLL][PER_LANE];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const int other = __shfl_sync(EVERY_LANE, row, turn + u, LANES);
                gather_row(rows, other, sub, raw[u]);
            }
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                widen(raw[u], b[u]);
                s[u] = 0;
#pragma unroll
                for (int i = 0; i < PER_LANE; ++i)
                    s[u] += own[i] * b[u][i];
            }
            // The thread that fetched the numbers of a non-zero also divides.
            const real own_s = max(own_sum_over_lanes(s, sub), FLOOR);
            if (LOGLIK && sub / UNROLL == turn / UNROLL)
                my_s = own_s;
            const real r = ratio(count, own_s);
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const real x = __shfl_sync(EVERY_LANE, r, turn + u, LANES);
#pragma unroll
                for (int i = 0; i < PER_LANE; ++i)
                    sum[i] += x * b[u][i];
            }
        }
        if (LOGLIK && count > 0)
            loglik += (logsum)count * log_of(my_s);
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

// What a whole token at s = 1 takes from either row of a topic, and what always stays.
// A thread keeps these numbers of its first topics in registers.
struct Kept {
    real from_row, row_floor, from_own, own_floor;
};
#define HELD (PER_LANE <= 16 ? PER_LANE : 8)

template <bool OF_DOCUMENT>
__device__ __forceinline__ Kept kept_of(real own, LeftOut left, real unit, int k)
{
    const real prior = __ldg(left.prior + k), scale = __ldg(left.scale + k);
    const real floor = __ldg(left.floor + k);
    if (OF_DOCUMENT)
        return {own * scale * unit, floor * unit, own, prior};
    return {own * unit, prior * unit, own * scale, floor};
}

// Adds x_j q_j to `sum` for j < n, q_j as in engine.protocol; every group ends with the
// whole sum. `own` is the row of a document if OF_DOCUMENT, else that of a word; what is
// gathered has been multiplied by `unit`. Returns this thread's part of Σ x log s.
template <bool OF_DOCUMENT>
__device__ __forceinline__ logsum collapsed_sum(const real (&own)[PER_LANE], int n,
                                                const int *list, const real *counts,
                                                const gathered *rows, real unit,
                                                LeftOut left, int lane,
                                                real (&sum)[PER_LANE])
{
    const int sub = lane % LANES, group = lane / LANES;
    logsum loglik = 0;
    Kept kept[HELD];
#pragma unroll
    for (int i = 0; i < HELD; ++i)
        kept[i] = kept_of<OF_DOCUMENT>(own[i], left, unit, column(i, sub));
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i)
        sum[i] = 0;
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
            Raw raw[UNROLL];
            real s[UNROLL], q[UNROLL][PER_LANE];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const int other = __shfl_sync(EVERY_LANE, row, turn + u, LANES);
                gather_row(rows, other, sub, raw[u]);
            }
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                widen(raw[u], q[u]);
                s[u] = 0;
#pragma unroll
                for (int i = 0; i < PER_LANE; ++i)
                    s[u] += own[i] * q[u][i];
            }
            const real own_s = max(own_sum_over_lanes(s, sub), FLOOR);
            if (OF_DOCUMENT && sub / UNROLL == turn / UNROLL)
                my_s = own_s;
            const real own_share = ratio(min(count, (real)1), own_s);
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const real share = __shfl_sync(EVERY_LANE, own_share, turn + u, LANES);
                s[u] = 0;
#pragma unroll
                for (int i = 0; i < PER_LANE; ++i) {
                    const real b = q[u][i], p = share * b;
                    const Kept k =
                        i < HELD ? kept[i % HELD]
                                 : kept_of<OF_DOCUMENT>(own[i], left, unit, column(i, sub));
                    q[u][i] = max(b - p * k.from_row, k.row_floor) *
                              max(own[i] - p * k.from_own, k.own_floor);
                    s[u] += q[u][i];
                }
            }
            const real r = ratio(count, max(own_sum_over_lanes(s, sub), FLOOR));
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) {
                const real x = __shfl_sync(EVERY_LANE, r, turn + u, LANES);
#pragma unroll
                for (int i = 0; i < PER_LANE; ++i)
                    sum[i] += x * q[u][i];
            }
        }
        if (OF_DOCUMENT && count > 0)
            loglik += (logsum)count * log_of(my_s);
    }
    sum_over_groups(sum);
    return loglik;
}

#if !HALF
// The same where documents or groups of words differ in what is left out; `place` is the
// number of the own row.
template <bool OF_DOCUMENT>
__device__ __forceinline__ logsum sided_sum(const real (&own)[PER_LANE], int n,
                                            const int *list, const real *counts,
                                            const real *rows, LeftOut left, int lane,
                                            real (&sum)[PER_LANE], long long place)
{
    const int sub = lane % LANES, group = lane / LANES;
    logsum loglik = 0;
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i)
        sum[i] = 0;
    for (int base = 0; base < n; base += 32) {
        const int mine = base + sub * GROUPS + group;
        const int row = mine < n ? __ldg(list + mine) : 0;
        const real count = mine < n ? __ldg(counts + mine) : (real)0;
        const int turns = (min(n - base, 32) + GROUPS - 1) / GROUPS;
        real my_s = 1;
        for (int turn = 0; turn < turns; ++turn) {
            Raw raw;
            real b[PER_LANE], q[PER_LANE];
            const int other = __shfl_sync(EVERY_LANE, row, turn, LANES);
            const real x = __shfl_sync(EVERY_LANE, count, turn, LANES);
            gather_row(rows, other, sub, raw);
            widen(raw, b);
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
            real total = 0;
#pragma unroll
            for (int i = 0; i < PER_LANE; ++i) {
                const int k = column(i, sub);
                const real p = share * own[i] * b[i];
                const real document = OF_DOCUMENT ? own[i] : b[i];
                const real word = OF_DOCUMENT ? b[i] : own[i];
                const real gone = tilt ? p * __ldg(tilt + k) : p;
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
            loglik += (logsum)count * log_of(my_s);
    }
    sum_over_groups(sum);
    return loglik;
}
#endif
