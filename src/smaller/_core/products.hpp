// The products of the columns of a working set with each other and with a target, X^T diag(omega) X and X^T target.
#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "simd.hpp"

namespace smaller {

// X^T diag(omega) X, a row of which is computed when it is first needed. Without omega all weights are 1; with `centre`
// the weighted mean of each column is subtracted first. With a target also X^T target, as `pulled`.
class Products {
public:
    const size_t n, w;
    std::vector<double> norm, mean, pulled;

    // The rows `wanted` are computed at once, in one pass over the columns.
    Products(std::vector<const double*> columns, size_t n, const double* omega, bool centre,
             const std::vector<size_t>& wanted = {}, const double* target = nullptr)
        : n(n), w(columns.size()), norm(w), mean(w, 0.0), pulled(target ? w : 0), columns(std::move(columns)),
          omega(omega), rows(w) {
        const double mass = centre ? std::max(sum(omega, n), std::numeric_limits<double>::min()) : 1.0;
        std::vector<std::vector<double>> scaled(omega ? wanted.size() : 0);
        std::vector<const double*> z(wanted.size());
        for (size_t a = 0; a < wanted.size(); ++a) {
            rows[wanted[a]].resize(w);
            if (centre) mean[wanted[a]] = dot(this->columns[wanted[a]], omega, n) / mass;
            z[a] = weighted(wanted[a], omega ? scaled[a] : spare);
        }
        for (size_t first = 0; first < w; first += 4) {
            const size_t count = std::min<size_t>(4, w - first);
            for (size_t j = first; j < first + count; ++j) {
                const double* x = this->columns[j];
                if (centre) mean[j] = dot(x, omega, n) / mass;
                norm[j] = omega ? spread(x, mean[j], omega, n) : dot(x, x, n);
            }
            if (target) multiply_block(first, count, target, pulled.data());
            for (size_t a = 0; a < z.size(); ++a) multiply_block(first, count, z[a], rows[wanted[a]].data());
        }
        for (const size_t j : wanted) rows[j][j] = norm[j];
    }

    // The products of column j with all columns.
    const double* of(size_t j) {
        if (rows[j].empty()) compute(j);
        return rows[j].data();
    }

    // The product of two columns, of which the row of j has been computed.
    double at(size_t j, size_t i) const { return rows[j][i]; }

    // The product of any two columns.
    double pair(size_t i, size_t j) {
        return i == j ? norm[i] : !rows[i].empty() ? rows[i][j] : !rows[j].empty() ? rows[j][i] : of(i)[j];
    }

private:
    const std::vector<const double*> columns;
    const double* omega;
    std::vector<double> spare;
    std::vector<std::vector<double>> rows;

    // Products that another row has are copied from there; the others are computed four at a time.
    void compute(size_t j) {
        rows[j].resize(w);
        const double* z = weighted(j, spare);
        rows[j][j] = norm[j];
        size_t waiting[4], count = 0;
        for (size_t i = 0; i < w; ++i) {
            if (i == j) continue;
            if (rows[i].empty())
                waiting[count++] = i;
            else
                rows[j][i] = rows[i][j];
            if (count == 4) {
                const double* four[4];
                double products[4];
                for (size_t c = 0; c < 4; ++c) four[c] = columns[waiting[c]];
                dot_four(four, z, n, products);
                for (size_t c = 0; c < 4; ++c) rows[j][waiting[c]] = products[c];
                count = 0;
            }
        }
        for (size_t c = 0; c < count; ++c) rows[j][waiting[c]] = dot(columns[waiting[c]], z, n);
    }

    // Column j less its mean, times omega, stored in `room`; the column itself where all weights are 1.
    const double* weighted(size_t j, std::vector<double>& room) const {
        if (!omega) return columns[j];
        room.assign(n, 0.0);
        add_weighted(room.data(), omega, columns[j], mean[j], 1.0, n);
        return room.data();
    }

    // The products of up to four neighbouring columns with a vector.
    void multiply_block(size_t first, size_t count, const double* z, double* products) const {
        if (count == 4)
            dot_four(columns.data() + first, z, n, products + first);
        else
            for (size_t j = first; j < first + count; ++j) products[j] = dot(columns[j], z, n);
    }
};

// Pointers to the columns of a matrix (n, w) that is stored column by column.
inline std::vector<const double*> each_column(const double* X, size_t n, size_t w) {
    std::vector<const double*> columns(w);
    for (size_t j = 0; j < w; ++j) columns[j] = X + j * n;
    return columns;
}

}  // namespace smaller
