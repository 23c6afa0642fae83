// Dense and sparse matrices stored by columns, with the operations on a column that the solvers need: both have the
// same member functions, so that every solver is a template over them.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "simd.hpp"

namespace smaller {

// The working vector v - shift * q of one class while its weights move. Centring a sparse column subtracts a multiple
// of q from all rows; the sum of these multiples is kept in `shift`, so that only the rows of the column are touched.
struct Lazy {
    double* v;
    const double* q;
    double shift;
};

using Places = std::vector<size_t>;

// Numbers from the beginning of a line of the cache on.
class Lines {
public:
    explicit Lines(size_t count) : kept(count + LINE / sizeof(double)) {
        const auto address = reinterpret_cast<std::uintptr_t>(kept.data());
        begins = kept.data() + (LINE - address % LINE) % LINE / sizeof(double);
    }
    double& operator[](size_t i) { return begins[i]; }

private:
    std::vector<double> kept;
    double* begins;
};

// The indices of some columns.
struct Side {
    const size_t* column;
    size_t count;
};

template <class T>
struct Dense {
    static constexpr bool SPARSE = false;
    const T* data;
    size_t n, stride;

    // The cost of an entry of a column in a product of two columns of the Hessian, relative to its cost in a sweep. A
    // sweep over more entries than the cache holds is slower.
    static double in_gram(double entries) { return entries > 1e6 ? 0.06 : 0.2; }

    const T* column(size_t j) const { return data + j * stride; }
    size_t entries(size_t) const { return n; }
    double dot(size_t j, const double* v) const { return smaller::dot(column(j), v, n); }
    double dot(size_t j, const Lazy& lazy, double) const { return smaller::dot(column(j), lazy.v, n); }
    double spread(size_t j, double c, const double* q, double) const { return smaller::spread(column(j), c, q, n); }
    void add(size_t j, double d, double* f) const { smaller::add(f, column(j), 0.0, d, n); }
    // f += q x.
    void add_product(size_t j, const double* q, double* f) const { add_weighted(f, q, column(j), 0.0, 1.0, n); }
    void move(size_t j, double c, double d, Lazy& lazy) const { add_weighted(lazy.v, lazy.q, column(j), c, d, n); }
    // H[c, e] += sum q x_c x_e for the columns c on the left and e on the right; only e >= c if both sides are the
    // same. A block of rows at a time stays in the cache for all pairs of columns.
    void cross(const Side& left, const Side& right, bool same, const double* q, double* H, size_t stride_of_H) const {
        constexpr size_t ROWS = 256, PANEL = 6, FEW = 6;
        if (left.count < FEW && !same) {  // for few columns copies into blocks cost more than they save
            const std::vector<size_t> columns(right.column, right.column + right.count);
            std::vector<double> weighted(n), found(right.count);
            for (size_t c = 0; c < left.count; ++c) {
                multiply(weighted.data(), column(left.column[c]), q, n);
                pull(columns, weighted.data(), found.data());
                smaller::add(H + c * stride_of_H, found.data(), 0.0, 1.0, right.count);
            }
            return;
        }
        Lines weighted(ROWS * left.count), plain(ROWS * right.count);
        for (size_t first = 0; first < n; first += ROWS) {
            const size_t rows = std::min(ROWS, n - first);
            for (size_t c = 0; c < left.count; ++c)
                multiply(&weighted[c * ROWS], column(left.column[c]) + first, q + first, rows);
            for (size_t e = 0; e < right.count; ++e)
                std::copy_n(column(right.column[e]) + first, rows, &plain[e * ROWS]);
            for (size_t c = 0; c < left.count; c += PANEL) {
                const size_t from = same ? c : 0;
                products(&weighted[c * ROWS], ROWS, std::min(PANEL, left.count - c), &plain[from * ROWS], ROWS,
                         right.count - from, rows, H + c * stride_of_H + from, stride_of_H);
            }
        }
    }
    // G = X^T R of the first d columns, (d, k) by rows.
    void pull(size_t d, const double* R, size_t k, double* G) const { smaller::pull(data, R, n, d, k, G); }
    // The products of some columns with one vector.
    void pull(const std::vector<size_t>& columns, const double* v, double* out) const {
        size_t c = 0;
        if constexpr (std::is_same_v<T, double>)
            for (; c + 4 <= columns.size(); c += 4) {
                const double* four[4];
                for (size_t e = 0; e < 4; ++e) four[e] = column(columns[c + e]);
                dot_four(four, v, n, out + c);
            }
        for (; c < columns.size(); ++c) out[c] = dot(columns[c], v);
    }
    // f += sum_c r_c x_c of some columns.
    void add(const std::vector<size_t>& columns, const double* r, double* f) const {
        size_t c = 0;
        for (; c + 4 <= columns.size(); c += 4) {
            const T* four[4];
            for (size_t e = 0; e < 4; ++e) four[e] = column(columns[c + e]);
            add_four(f, four, r + c, n);
        }
        for (; c < columns.size(); ++c)
            if (r[c] != 0.0) add(columns[c], r[c], f);
    }
    void tilt(size_t j, double c, double d, double* e, double* total) const {
        smaller::tilt(e, total, column(j), c, d, n);
    }
    void add_centred(size_t j, double c, double d, double* f) const { smaller::add(f, column(j), c, d, n); }
};

template <class T, class I>
struct Sparse {
    static constexpr bool SPARSE = true;
    const T* data;
    const I* row;
    const I* start;
    size_t n;
    static double in_gram(double) { return 1.0; }

    size_t entries(size_t j) const { return static_cast<size_t>(start[j + 1] - start[j]); }
    template <class Visit>
    void each(size_t j, Visit visit) const {
        for (I t = start[j]; t < start[j + 1]; ++t) visit(static_cast<size_t>(row[t]), static_cast<double>(data[t]));
    }
    double dot(size_t j, const double* v) const {
        double total = 0.0;
        each(j, [&](size_t r, double x) { total += x * v[r]; });
        return total;
    }
    double dot(size_t j, const Lazy& lazy, double xq) const { return dot(j, lazy.v) - lazy.shift * xq; }
    double spread(size_t j, double c, const double* q, double total_q) const {
        double inside = 0.0, seen = 0.0;
        each(j, [&](size_t r, double x) {
            inside += q[r] * (x - c) * (x - c);
            seen += q[r];
        });
        return inside + c * c * (total_q > seen && entries(j) < n ? total_q - seen : 0.0);
    }
    void add(size_t j, double d, double* f) const {
        each(j, [&](size_t r, double x) { f[r] += d * x; });
    }
    void add_product(size_t j, const double* q, double* f) const {
        each(j, [&](size_t r, double x) { f[r] += q[r] * x; });
    }
    void move(size_t j, double c, double d, Lazy& lazy) const {
        each(j, [&](size_t r, double x) { lazy.v[r] += d * lazy.q[r] * x; });
        lazy.shift += c * d;
    }
    void cross(const Side& left, const Side& right, bool same, const double* q, double* H, size_t stride_of_H) const {
        std::vector<double> z(n);
        for (size_t c = 0; c < left.count; ++c) {
            each(left.column[c], [&](size_t r, double x) { z[r] = x * q[r]; });
            for (size_t e = same ? c : 0; e < right.count; ++e)
                H[c * stride_of_H + e] += dot(right.column[e], z.data());
            each(left.column[c], [&](size_t r, double) { z[r] = 0.0; });
        }
    }
    void pull(size_t d, const double* R, size_t k, double* G) const {
        std::vector<double> by_rows(k > 1 ? n * k : 0);
        for (size_t t = 0; t < by_rows.size(); ++t) by_rows[t] = R[t % k * n + t / k];
        const double* from = k > 1 ? by_rows.data() : R;
        std::fill(G, G + d * k, 0.0);
        for (size_t j = 0; j < d; ++j)
            each(j, [&](size_t r, double x) {
                for (size_t l = 0; l < k; ++l) G[j * k + l] += x * from[r * k + l];
            });
    }
    void pull(const std::vector<size_t>& columns, const double* v, double* out) const {
        for (size_t c = 0; c < columns.size(); ++c) out[c] = dot(columns[c], v);
    }
    void add(const std::vector<size_t>& columns, const double* r, double* f) const {
        for (size_t c = 0; c < columns.size(); ++c) add(columns[c], r[c], f);
    }
    // Component-wise updates of sparse columns are not centred: c is 0.
    void tilt(size_t j, double, double d, double* e, double* total) const {
        each(j, [&](size_t r, double x) {
            const double was = e[r];
            e[r] = was * std::exp(d * x);
            total[r] += e[r] - was;
        });
    }
    void add_centred(size_t j, double, double d, double* f) const { add(j, d, f); }
};

}  // namespace smaller
