// The penalty of all weights: L1 and ridge strengths, and norms of the rows of groups of columns.
#pragma once
#include "block_norm.hpp"
#include "columns.hpp"

namespace smaller {

// Groups of columns: those of group g are column[start[g]] to column[start[g + 1] - 1].
struct Groups {
    size_t count;
    const std::int64_t *start, *column;
    const std::int64_t* of;  // the group of each column, negative where it has none
    const double* tau;       // strength of the norm at strength 1
    const double* unit;      // of each column: inside a norm its weights are multiplied by this
};

// Weights are (d + intercept, k) by rows, flat places t; the intercepts come last and have no penalty.
struct Penalty {
    const double* unit;   // l1 at strength 1
    const double* l2;     // null where there is no ridge
    const double* scale;  // what the KKT residual of a weight without L1 penalty is measured against
    size_t k, inner;      // columns of scores, and number of weights without the intercepts
    const Groups* groups = nullptr;
    double lam = 1.0;

    double l1(size_t t) const { return lam * unit[t]; }
    double ridge(size_t t) const { return l2 == nullptr ? 0.0 : l2[t]; }
    bool grouped(size_t t) const { return groups != nullptr && t < inner && groups->of[t / k] >= 0; }
    bool sparse(size_t t) const { return unit[t] > 0.0 || grouped(t); }
    double measure(size_t t) const { return grouped(t) ? lam * scale[t] : unit[t] > 0.0 ? l1(t) : scale[t]; }
    bool free(size_t t) const { return !sparse(t) && ridge(t) == 0.0; }

    double tau(size_t g) const { return lam * groups->tau[g]; }
    size_t group_of(size_t t) const { return static_cast<size_t>(groups->of[t / k]); }
    size_t first_place(size_t g) const { return static_cast<size_t>(groups->column[groups->start[g]]) * k; }
    // The groups that have one of these places, in order.
    void list_groups(std::initializer_list<const Places*> parts, Places& out) const {
        out.clear();
        for (const Places* part : parts)
            for (const size_t t : *part)
                if (grouped(t)) out.push_back(group_of(t));
        std::sort(out.begin(), out.end());
        out.erase(std::unique(out.begin(), out.end()), out.end());
    }

    // Of the weights of a group, column by column, in the units of its norm.
    Numbers weights(size_t g, const double* W) const {
        return of_group(g, [&](size_t t, double unit) { return W[t] * unit; });
    }
    Numbers slopes(size_t g, const double* G) const {
        return of_group(g, [&](size_t t, double unit) { return G[t] / unit; });
    }
    Numbers l1_of(size_t g) const {
        return of_group(g, [&](size_t t, double unit) { return l1(t) / unit; });
    }
    Numbers ridge_of(size_t g) const {
        return of_group(g, [&](size_t t, double unit) { return ridge(t) / (unit * unit); });
    }
    template <class Value>
    Numbers of_group(size_t g, Value value) const {
        Numbers out(static_cast<size_t>(groups->start[g + 1] - groups->start[g]) * k);
        size_t r = 0;
        each_place(g, [&](size_t t) { out[r++] = value(t, groups->unit[t / k]); });
        return out;
    }
    template <class Visit>
    void each_place(size_t g, Visit visit) const {
        for (std::int64_t c = groups->start[g]; c < groups->start[g + 1]; ++c)
            for (size_t l = 0; l < k; ++l) visit(static_cast<size_t>(groups->column[c]) * k + l);
    }

    // By how much the slopes of a group exceed a share of its penalty: above 0 its weights do not stay 0 at this share.
    double excess(size_t g, const double* G, double share) const {
        double square = 0.0;
        each_place(g, [&](size_t t) {
            const double rest = soft(G[t], share * l1(t)) / groups->unit[t / k];
            square += rest * rest;
        });
        return std::sqrt(square) - share * tau(g);
    }
};

}  // namespace smaller
