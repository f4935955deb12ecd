// SPDX-License-Identifier: BSD-3-Clause
// Frank-Wolfe inference (docs/math.md §6): a warp climbs for one document. Follows
// infer/frank_wolfe.py, where the reasons stand.
// Loops over words and over topics are shared by the 32 threads; sums over threads
// give every thread the same bits, so all take the same decisions.
// The loader defines REAL and N_TOPICS.

typedef REAL real;

#define EVERY_LANE 0xffffffffu
#define PER_LANE ((N_TOPICS + 31) / 32)
#define FLOOR 1e-10
#define STEP_RTOL 1e-4
#define MAX_NEWTON 60

__device__ __forceinline__ double sum(double value)
{
    for (int step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(EVERY_LANE, value, step);
    return value;
}

// The largest value and its topic, the first of equals.
__device__ __forceinline__ void largest(double &value, int &topic)
{
    for (int step = 16; step > 0; step /= 2) {
        const double v = __shfl_xor_sync(EVERY_LANE, value, step);
        const int t = __shfl_xor_sync(EVERY_LANE, topic, step);
        if (v > value || (v == value && t < topic)) {
            value = v;
            topic = t;
        }
    }
}

struct Document {
    int n, lane;
    const int *words;
    const double *u;
    const real *table;
    double *x;
    bool promoting;
    double theta[PER_LANE], weights[PER_LANE];

    __device__ int topic(int i) const { return lane + 32 * i; }

    __device__ double entry(int w, int k) const
    {
        return (double)table[(long long)words[w] * N_TOPICS + k];
    }

    // How the share of a thread's i-th topic moves: to `top` from `bad`, or from all.
    __device__ double way(int i, int top, int bad) const
    {
        const double to = topic(i) == top ? 1.0 : 0.0;
        if (bad < 0)
            return theta[i] > 0.0 || topic(i) == top ? to - theta[i] : 0.0;
        return to - (topic(i) == bad ? 1.0 : 0.0);
    }
};

// Σ_w rate_w rows_wk for this thread's topics, rate = u or u / x.
__device__ __forceinline__ void row_sums(const Document &d, const real *rows,
                                         bool by_probability, real (&out)[PER_LANE])
{
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i)
        out[i] = 0;
    for (int base = 0; base < d.n; base += 32) {
        const int mine = base + d.lane;
        int word = 0;
        real rate = 0;
        if (mine < d.n) {
            word = d.words[mine];
            rate = (real)(by_probability ? d.u[mine] / d.x[mine] : d.u[mine]);
        }
        const int left = min(d.n - base, 32);
        for (int j = 0; j < left; ++j) {
            const real r = __shfl_sync(EVERY_LANE, rate, j);
            const long long row = __shfl_sync(EVERY_LANE, word, j);
#pragma unroll
            for (int i = 0; i < PER_LANE; ++i)
                if (d.topic(i) < N_TOPICS)
                    out[i] += r * __ldg(rows + row * N_TOPICS + d.topic(i));
        }
    }
}

__device__ void derivatives(const Document &d, const double *delta, double step, int top,
                            int bad, double &slope, double &bend)
{
    slope = bend = 0.0;
    for (int w = d.lane; w < d.n; w += 32) {
        const double q = delta[w] / (d.x[w] + step * delta[w]);
        slope += d.u[w] * q;
        bend -= d.u[w] * q * q;
    }
    if (d.promoting)
        for (int i = 0; i < PER_LANE; ++i) {
            const double way = d.way(i, top, bad), share = d.theta[i] + step * way;
            slope += d.weights[i] * way * cos(share);
            bend -= d.weights[i] * way * way * sin(share);
        }
    slope = sum(slope);
    bend = sum(bend);
}

__device__ double line_search(const Document &d, const double *delta, double cap, int top,
                              int bad)
{
    double low = 0.0, high = cap, step = 0.0, slope, bend;
    for (int turn = 0; turn < MAX_NEWTON; ++turn) {
        derivatives(d, delta, step, top, bad, slope, bend);
        if (slope > 0.0)
            low = step;
        else if (step > 0.0)
            high = step;
        else
            return 0.0;
        if (step == cap)
            return cap;
        if (step > 0.0)
            bend += (cap - 2.0 * step) * slope / (step * (cap - step));
        double next = bend < 0.0 ? step - slope / bend : cap;
        if (!(low < next && next < high))
            next = 0.5 * (low + high);
        const bool done = fabs(next - step) <= STEP_RTOL * next;
        step = next;
        if (done)
            break;
    }
    if (cap - step < 0.01 * cap) {
        derivatives(d, delta, cap, top, bad, slope, bend);
        if (slope >= 0.0)
            return cap;
    }
    return step;
}

// The best step up to `cap` along `delta`, and what it wins.
__device__ double try_direction(const Document &d, const double *delta, double cap,
                                int top, int bad, double &gain)
{
    const double step = line_search(d, delta, cap, top, bad);
    gain = 0.0;
    for (int w = d.lane; w < d.n; w += 32)
        gain += d.u[w] * log1p(step * delta[w] / d.x[w]);
    if (d.promoting)
        for (int i = 0; i < PER_LANE; ++i) {
            const double share = d.theta[i] + step * d.way(i, top, bad);
            gain += d.weights[i] * (sin(share) - sin(d.theta[i]));
        }
    gain = sum(gain);
    return step;
}

// Move x and θ the better of two ways; returns what was won.
__device__ double best_move(Document &d, int top, int bad, double *delta, double *other)
{
    double gain, step;
    for (int w = d.lane; w < d.n; w += 32)
        delta[w] = d.entry(w, top) - d.x[w];
    step = try_direction(d, delta, 1.0, top, -1, gain);
    int from = -1;
    if (bad >= 0) {
        double cap = 0.0, won;
        for (int i = 0; i < PER_LANE; ++i)
            cap += d.topic(i) == bad ? d.theta[i] : 0.0;
        cap = sum(cap);
        for (int w = d.lane; w < d.n; w += 32)
            other[w] = d.entry(w, top) - d.entry(w, bad);
        const double pair_step = try_direction(d, other, cap, top, bad, won);
        if (won > gain) {
            gain = won;
            step = pair_step;
            delta = other;
            from = bad;
        }
    }
    if (!(gain > 0.0))
        return gain;
    for (int w = d.lane; w < d.n; w += 32)
        d.x[w] = fmax(d.x[w] + step * delta[w], FLOOR);
    for (int i = 0; i < PER_LANE; ++i)
        d.theta[i] = fmax(d.theta[i] + step * d.way(i, top, from), 0.0);
    return gain;
}

__device__ void climb(Document &d, double *delta, double *other, const real *logs,
                      int pairwise, int max_iter, double tol, double *info)
{
    real slopes[PER_LANE];
    row_sums(d, logs, false, slopes);
    int top = N_TOPICS, iteration = 0;
    double best = -1e300, value = 0.0, gap = 0.0;
    for (int i = 0; i < PER_LANE; ++i) {
        const double score = (double)slopes[i] + d.weights[i] * sin(1.0);
        if (d.topic(i) < N_TOPICS && score > best) {
            best = score;
            top = d.topic(i);
        }
    }
    largest(best, top);
    for (int i = 0; i < PER_LANE; ++i) {
        d.theta[i] = d.topic(i) == top ? 1.0 : 0.0;
        value += d.weights[i] * sin(d.theta[i]);
    }
    for (int w = d.lane; w < d.n; w += 32) {
        d.x[w] = d.entry(w, top);
        value += d.u[w] * log(d.x[w]);
    }
    value = sum(value);
    const double start = value;
    while (true) {
        row_sums(d, d.table, true, slopes);
        double level = 0.0, least = 1e300;
        int bad = N_TOPICS, n_active = 0;
        best = -1e300;
        top = N_TOPICS;
        for (int i = 0; i < PER_LANE; ++i) {
            if (d.topic(i) >= N_TOPICS)
                continue;
            const double term = d.weights[i] * cos(d.theta[i]);
            const double slope = (double)slopes[i] + term;
            level += d.theta[i] * term;
            n_active += d.theta[i] > 0.0;
            if (slope > best) {
                best = slope;
                top = d.topic(i);
            }
        }
        largest(best, top);
        gap = best - 1.0 - sum(level);
        if (iteration >= max_iter || !(gap > tol * fabs(value)))
            break;
        n_active = (int)sum((double)n_active);
        for (int i = 0; i < PER_LANE; ++i) {
            const double slope = (double)slopes[i] + d.weights[i] * cos(d.theta[i]);
            if (d.theta[i] > 0.0 && d.topic(i) != top && slope < least) {
                least = slope;
                bad = d.topic(i);
            }
        }
        least = -least;
        largest(least, bad);
        const bool try_pair = pairwise && n_active > 1 && bad < N_TOPICS;
        const double gain = best_move(d, top, try_pair ? bad : -1, delta, other);
        if (!(gain > 0.0))
            break;
        value += gain;
        ++iteration;
        if (gain < tol * fabs(value))
            break;
    }
    if (d.lane == 0) {
        info[0] = iteration;
        info[1] = start;
        info[2] = value;
        info[3] = fmax(gap, 0.0);
    }
}

extern "C" __global__ void frank_wolfe(
    int n_documents, const long long *indptr, const int *indices, double *u,
    const real *table, const real *logs, const int *classes,
    const double *class_weights, int pairwise, int max_iter, double tol, double *work_x,
    double *work_delta, double *work_other, double *out_theta, double *out_info)
{
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= n_documents)
        return;
    const long long start = indptr[row];
    Document d;
    d.lane = threadIdx.x % 32;
    d.n = (int)(indptr[row + 1] - start);
    d.words = indices + start;
    d.u = u + start;
    d.table = table;
    d.x = work_x + start;
    d.promoting = classes[row] >= 0;
    for (int i = 0; i < PER_LANE; ++i) {
        const bool used = d.promoting && d.topic(i) < N_TOPICS;
        const long long at = (long long)classes[row] * N_TOPICS + d.topic(i);
        d.weights[i] = used ? class_weights[at] : 0.0;
        d.theta[i] = 1.0;
    }
    double *info = out_info + 4LL * row;
    double total = 0.0;
    for (int w = d.lane; w < d.n; w += 32)
        total += u[start + w];
    total = sum(total);
    if (total > 0.0)
        for (int w = d.lane; w < d.n; w += 32)
            u[start + w] /= total;
    // Each thread reads only the weights that it wrote.
    if (total > 0.0)
        climb(d, work_delta + start, work_other + start, logs, pairwise, max_iter, tol,
              info);
    else if (d.lane == 0) {
        info[0] = -1.0;
        info[1] = info[2] = info[3] = 0.0;
    }
    total = 0.0;
    for (int i = 0; i < PER_LANE; ++i)
        if (d.topic(i) < N_TOPICS)
            total += d.theta[i];
    total = sum(total);
    for (int i = 0; i < PER_LANE; ++i)
        if (d.topic(i) < N_TOPICS)
            out_theta[(long long)row * N_TOPICS + d.topic(i)] = d.theta[i] / total;
}
