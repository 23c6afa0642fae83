// A column of the design is anything that can do these few things; dense and sparse matrices share every solver.
#pragma once
#include <cmath>
#include <cstdint>

#include "simd.hpp"

namespace smaller {

// The working vector of one class while its coordinates move: v - shift * q.
// A sparse column that is centred moves every row by a multiple of q; the multiple is kept here instead.
struct Lazy {
    double* v;
    const double* q;
    double shift;
};

template <class T>
struct Dense {
    const T* data;
    size_t n, stride;

    const T* column(size_t j) const { return data + j * stride; }
    size_t entries(size_t) const { return n; }
    double dot(size_t j, const double* v) const { return smaller::dot(column(j), v, n); }
    double dot(size_t j, const Lazy& lazy, double) const { return smaller::dot(column(j), lazy.v, n); }
    double spread(size_t j, double c, const double* q, double) const { return smaller::spread(column(j), c, q, n); }
    void add(size_t j, double d, double* f) const { smaller::add(f, column(j), 0.0, d, n); }
    void move(size_t j, double c, double d, Lazy& lazy) const { add_weighted(lazy.v, lazy.q, column(j), c, d, n); }
    void scatter(size_t j, const double* q, double* z) const { multiply(z, column(j), q, n); }
    void gather_out(size_t, double*) const {}
    void tilt(size_t j, double c, double d, double* e, double* total) const {
        smaller::tilt(e, total, column(j), c, d, n);
    }
    void add_centred(size_t j, double c, double d, double* f) const { smaller::add(f, column(j), c, d, n); }
};

template <class T, class I>
struct Sparse {
    const T* data;
    const I* row;
    const I* start;
    size_t n;

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
        return inside + c * c * (total_q > seen ? total_q - seen : 0.0);
    }
    void add(size_t j, double d, double* f) const {
        each(j, [&](size_t r, double x) { f[r] += d * x; });
    }
    void move(size_t j, double c, double d, Lazy& lazy) const {
        each(j, [&](size_t r, double x) { lazy.v[r] += d * lazy.q[r] * x; });
        lazy.shift += c * d;
    }
    void scatter(size_t j, const double* q, double* z) const {
        each(j, [&](size_t r, double x) { z[r] = x * q[r]; });
    }
    void gather_out(size_t j, double* z) const {
        each(j, [&](size_t r, double) { z[r] = 0.0; });
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
