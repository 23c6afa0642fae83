// The whole design as the L1 solver needs it: products with all columns, and some columns packed for the Newton
// steps. A matrix that is stored by rows is never turned into one by columns: only the columns of the working set are
// copied.
#pragma once
#include <vector>

#include "columns.hpp"

namespace smaller {

// A weight that is not 0: its column, its class and its value.
struct Term {
    size_t column, klass;
    double value;
};

template <class C>
struct ByColumns {
    using Columns = C;
    static constexpr bool BY_COLUMNS = true;
    const C X;
    const size_t n, d;

    // G = X^T R, (d, k) by rows.
    void pull(const double* R, size_t k, double* G) const { X.pull(d, R, k, G); }
    // The products of some columns with one vector.
    void pull(const Places& columns, const double* v, double* out) const { X.pull(columns, v, out); }
    // F += X W, F (n, k) by columns.
    void add(const std::vector<Term>& terms, double* F) const {
        for (const Term& term : terms) X.add(term.column, term.value, F + term.klass * n);
    }
    // Lengths of the columns under weights s of the rows, which sum to `total`; about their means where asked.
    double length(size_t j, bool centred, const double* s, double total) const {
        const double mean = centred ? X.dot(j, s) / total : 0.0;
        return std::sqrt(X.spread(j, mean, s, total));
    }
    std::vector<double> lengths(bool centred, const double* s, double total) const {
        std::vector<double> out(d);
        for (size_t j = 0; j < d; ++j) out[j] = length(j, centred, s, total);
        return out;
    }

    // The columns of a working set: here all of them, where they are.
    struct Packed {
        Packed(const ByColumns& matrix, const Places&) : columns(matrix.X) {}
        const C columns;
        std::int64_t place(size_t column) const { return static_cast<std::int64_t>(column); }
    };
};

// The index of the packed column for each column of the matrix.
class PackedPlaces {
public:
    PackedPlaces(size_t d, const Places& features) : at(d, NOWHERE) {
        for (const size_t j : features)
            if (at[j] == NOWHERE) at[j] = count++;
    }
    static constexpr size_t NOWHERE = ~size_t{0};
    std::int64_t place(size_t column) const { return static_cast<std::int64_t>(at[column]); }
    size_t operator[](size_t column) const { return at[column]; }
    size_t size() const { return count; }

private:
    std::vector<size_t> at;
    size_t count = 0;
};

template <class T>
struct DenseRows {
    using Columns = Dense<T>;
    static constexpr bool BY_COLUMNS = false;
    const T* data;
    const size_t n, d;
    const std::int64_t row_stride, column_stride;

    const T& entry(size_t i, size_t j) const {
        return data[static_cast<std::int64_t>(i) * row_stride + static_cast<std::int64_t>(j) * column_stride];
    }
    // A row as a contiguous array, copied into `room` where its entries do not lie side by side.
    const T* row(size_t i, std::vector<T>& room) const {
        if (column_stride == 1) return &entry(i, 0);
        room.resize(d);
        for (size_t j = 0; j < d; ++j) room[j] = entry(i, j);
        return room.data();
    }

    // Four rows at a time, so that G, which may be larger than the cache, is read and written a quarter as often.
    void pull(const double* R, size_t k, double* G) const {
        std::vector<double> by_class(k * d, 0.0);
        std::vector<T> room[4];
        for (size_t i = 0; i < n; i += 4) {
            const T* x[4];
            for (size_t c = 0; c < 4; ++c) x[c] = row(std::min(i + c, n - 1), room[c]);
            for (size_t l = 0; l < k; ++l) {
                double r[4] = {};
                for (size_t c = 0; c < 4 && i + c < n; ++c) r[c] = R[l * n + i + c];
                add_four(&by_class[l * d], x, r, d);
            }
        }
        for (size_t j = 0; j < d; ++j)
            for (size_t l = 0; l < k; ++l) G[j * k + l] = by_class[l * d + j];
    }

    void add(const std::vector<Term>& terms, double* F) const {
        for (size_t i = 0; i < n; ++i)
            for (const Term& term : terms) F[term.klass * n + i] += term.value * entry(i, term.column);
    }

    std::vector<double> lengths(bool centred, const double* s, double total) const {
        std::vector<double> mean(d, 0.0), out(d, 0.0);
        std::vector<T> room;
        for (size_t i = 0; i < n && centred; ++i) {
            const T* x = row(i, room);
            for (size_t j = 0; j < d; ++j) mean[j] += s[i] * x[j];
        }
        for (size_t j = 0; j < d; ++j) mean[j] /= total;
        for (size_t i = 0; i < n; ++i) {
            const T* x = row(i, room);
            for (size_t j = 0; j < d; ++j) out[j] += s[i] * (x[j] - mean[j]) * (x[j] - mean[j]);
        }
        for (double& square : out) square = std::sqrt(square);
        return out;
    }

    struct Packed : PackedPlaces {
        Packed(const DenseRows& matrix, const Places& features)
            : PackedPlaces(matrix.d, features), values(matrix.n * size()), columns{values.data(), matrix.n, matrix.n} {
            Places distinct(size());
            for (const size_t j : features) distinct[(*this)[j]] = j;
            for (size_t i = 0; i < matrix.n; ++i)
                for (size_t c = 0; c < distinct.size(); ++c) values[c * matrix.n + i] = matrix.entry(i, distinct[c]);
        }
        std::vector<T> values;
        const Columns columns;
    };
};

template <class T, class I>
struct SparseRows {
    using Columns = Sparse<T, I>;
    static constexpr bool BY_COLUMNS = false;
    const T* data;
    const I* column;
    const I* start;
    const size_t n, d;

    template <class Visit>
    void each(Visit visit) const {
        for (size_t i = 0; i < n; ++i)
            for (I t = start[i]; t < start[i + 1]; ++t)
                visit(i, static_cast<size_t>(column[t]), static_cast<double>(data[t]));
    }
    void pull(const double* R, size_t k, double* G) const {
        std::fill(G, G + d * k, 0.0);
        each([&](size_t i, size_t j, double x) {
            for (size_t l = 0; l < k; ++l) G[j * k + l] += x * R[l * n + i];
        });
    }
    void add(const std::vector<Term>& terms, double* F) const {
        std::vector<size_t> begin(d + 1, 0);
        for (const Term& term : terms) ++begin[term.column + 1];
        for (size_t j = 0; j < d; ++j) begin[j + 1] += begin[j];
        std::vector<Term> sorted(terms.size());
        std::vector<size_t> next(begin.begin(), begin.end() - 1);
        for (const Term& term : terms) sorted[next[term.column]++] = term;
        each([&](size_t i, size_t j, double x) {
            for (size_t t = begin[j]; t < begin[j + 1]; ++t) F[sorted[t].klass * n + i] += x * sorted[t].value;
        });
    }
    std::vector<double> lengths(bool centred, const double* s, double total) const {
        std::vector<double> mean(d, 0.0), out(d, 0.0), seen(d, 0.0);
        each([&](size_t i, size_t j, double x) { mean[j] += centred ? s[i] * x / total : 0.0; });
        each([&](size_t i, size_t j, double x) {
            out[j] += s[i] * (x - mean[j]) * (x - mean[j]);
            seen[j] += s[i];
        });
        for (size_t j = 0; j < d; ++j) out[j] = std::sqrt(out[j] + std::max(0.0, total - seen[j]) * mean[j] * mean[j]);
        return out;
    }

    struct Packed : PackedPlaces {
        Packed(const SparseRows& matrix, const Places& features)
            : PackedPlaces(matrix.d, features), begin(size() + 1, 0) {
            matrix.each([&](size_t, size_t j, double) {
                if ((*this)[j] != NOWHERE) ++begin[(*this)[j] + 1];
            });
            for (size_t c = 0; c < size(); ++c) begin[c + 1] += begin[c];
            values.resize(begin.back());
            rows.resize(begin.back());
            std::vector<I> next(begin.begin(), begin.end() - 1);
            matrix.each([&](size_t i, size_t j, double x) {
                const size_t c = (*this)[j];
                if (c == NOWHERE) return;
                values[next[c]] = static_cast<T>(x);
                rows[next[c]++] = static_cast<I>(i);
            });
            columns = {values.data(), rows.data(), begin.data(), matrix.n};
        }
        std::vector<I> begin, rows;
        std::vector<T> values;
        Columns columns;
    };
};

}  // namespace smaller
