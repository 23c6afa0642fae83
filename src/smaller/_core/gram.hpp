// The minimum of the quadratic model of a Newton step by way of its Hessian, where the non-zero weights are much fewer
// than the samples. The Hessian changes little from point to point, so that one Hessian is used for several steps, and
// for several strengths of a path.
#pragma once
#include "block_quadratic.hpp"

namespace smaller {

// A step, and the change of the gradient along it: in the weights of the working set, then in the intercepts.
struct Secant {
    std::vector<double> move, change;
};

// The Hessian of some coordinates at the means P.
struct Hessian {
    std::vector<double> P, H, border;   // border: second derivatives in a weight and an intercept
    std::vector<std::uint64_t> places;  // (class, column) of the coordinates, sorted; empty where there is no Hessian
    std::vector<Secant> secants;        // what steps since then have shown of the curvature
    std::vector<double> diagonal;       // of the whole working set, where it is known better than from these rows
    double future = 1.0;                // number of steps for which it is expected to be used
    int sweeps = 10;                    // number of sweeps of the last step that did without it
};

// More coordinates than this are never solved by their Hessian.
constexpr size_t MAX_ACTIVE = 1000;

template <class Columns>
class Gram {
public:
    Gram(Model<Columns>& model, Hessian& kept) : M(model), kept(kept), n(model.n), k(model.k) {}

    // The number of sweeps over the columns that cost as much as the Hessian of the active coordinates and a few
    // Cholesky factors. A model that needs more sweeps, because columns are nearly collinear, is cheaper to solve by
    // its Hessian.
    double worth_sweeps(int max_sweeps) {
        M.list_active(active);
        entries = 0.0;
        for (const size_t i : active) entries += M.X.entries(M.A.feature[i]);
        const double a = active.size();
        if (a == 0.0 || a > MAX_ACTIVE) return 1e3 * max_sweeps;
        const double length = entries / a;
        const double formed = Columns::in_gram(entries) * length / kept.future;
        const double sweeps = a * (formed + 2.0 * a) / (4.0 * (length + OVERHEAD));
        return std::min<double>(max_sweeps, std::ceil(sweeps));
    }

    // Whether the Hessian that was kept has most of the active coordinates, and a new one would cost more than a step.
    bool still_serves() {
        if (active.empty() || kept.places.empty()) return false;
        const double a = active.size(), length = entries / a, step = (M.A.size + a) * length + 20.0 * n * k;
        const double new_hessian = 0.5 * a * a * length * Columns::in_gram(entries);
        return new_hessian >= step && 4 * known() >= 3 * active.size() && active.size() <= MAX_ACTIVE;
    }

    // The number of active coordinates that the Hessian that was kept has.
    size_t known() {
        position.assign(active.size(), NOWHERE);
        size_t found = 0;
        for (size_t c = 0, t = 0; c < active.size(); ++c) {
            while (t < kept.places.size() && kept.places[t] < place(active[c])) ++t;
            if (t == kept.places.size() || kept.places[t] != place(active[c])) continue;
            position[c] = t;
            ++found;
        }
        return found;
    }

    size_t actives() const { return active.size(); }

    // The Hessian kept so far is that of other means: the next one is formed anew.
    void renew() {
        kept.P = M.P;
        kept.places.clear();
    }

    // The minimum of the model, into its step. Returns the number of sweeps.
    int run(double tolerance) {
        const size_t a = active.size();
        form(a);
        if (M.D.intercept) M.intercept_block(kept.P, true, corner);
        for (const Secant& secant : kept.secants) correct(a, secant);
        if (M.D.intercept) eliminate_intercepts(a);
        std::vector<double> w(a), l1(a), scale(a), d(a, 0.0);
        for (size_t c = 0; c < a; ++c) {
            w[c] = M.A.w[active[c]];
            l1[c] = M.A.l1[active[c]];
            scale[c] = M.A.scale[active[c]];
        }
        const Quadratic quadratic{a, H.data(), slope.data(), w.data(), l1.data(), scale.data(), d.data()};
        const int sweeps = M.A.blocks == nullptr ? QuadraticSolver(quadratic).run(tolerance)
                                                 : run_blocks(w, l1, scale, d, tolerance);
        for (size_t c = 0; c < a; ++c) M.d[active[c]] = d[c];
        if (M.D.intercept) restore_intercepts(a);
        return sweeps;
    }

private:
    // The same where there are blocks, whose weights are measured in the units of their norms.
    int run_blocks(Numbers& w, Numbers& l1, const Numbers& scale, Numbers& d, double tolerance) {
        const size_t a = active.size();
        Places place(M.A.size, NOWHERE);
        for (size_t c = 0; c < a; ++c) place[active[c]] = c;
        BlockSet blocks;
        for (size_t g = 0; g < M.A.blocks->count(); ++g) {
            Places members(M.A.blocks->members(g), M.A.blocks->members(g) + M.A.blocks->size(g));
            if (place[members[0]] == NOWHERE) continue;
            for (size_t& i : members) i = place[i];
            blocks.append(members, M.A.blocks->tau[g]);
        }
        for (size_t c = 0; c < a; ++c) blocks.unit.push_back(M.A.blocks->unit[active[c]]);
        for (size_t c = 0; c < a; ++c) {
            const double unit = blocks.unit[c];
            w[c] *= unit;
            l1[c] /= unit;
            slope[c] /= unit;
            for (size_t e = 0; e < a; ++e) H[c * a + e] /= unit * blocks.unit[e];
        }
        const Quadratic quadratic{a, H.data(), slope.data(), w.data(), l1.data(), scale.data(), d.data()};
        const int sweeps = BlockQuadratic(quadratic, blocks).run(tolerance);
        for (size_t c = 0; c < a; ++c) d[c] = w[c] + d[c] == 0.0 ? -M.A.w[active[c]] : d[c] / blocks.unit[c];
        return sweeps;
    }

    Model<Columns>& M;
    Hessian& kept;
    const size_t n, k;
    static constexpr double OVERHEAD = 64.0;  // fixed cost of a move in a sweep, in entries of a column
    static constexpr size_t NOWHERE = ~size_t{0};
    // Of the change that the Hessian predicts: a smaller change of the gradient corrects nothing.
    static constexpr double FLAT = 1e-6;
    std::vector<size_t> active, position;  // position: of an active coordinate in the Hessian that was kept
    double entries = 0.0;                  // of the active columns
    std::vector<double> H, border, corner, reduced, slope;

    std::uint64_t place(size_t i) const {
        return static_cast<std::uint64_t>(M.A.klass[i]) << 40 | static_cast<std::uint64_t>(M.A.feature[i]);
    }

    // H and `border` of the active coordinates: entries of the Hessian that was kept are copied, the others computed.
    void form(size_t a) {
        const size_t old = kept.places.size();
        std::vector<size_t> column(a), missing;
        H.assign(a * a, 0.0);
        border.assign(a * k, 0.0);
        slope.resize(a);
        for (size_t c = 0; c < a; ++c) {
            slope[c] = M.g[active[c]];
            column[c] = M.A.feature[active[c]];
            if (old == 0 || position[c] == NOWHERE) missing.push_back(c);
        }
        add_rows(a, column, missing);
        for (size_t c = 0; c < a && missing.size() < a; ++c) {
            if (position[c] == NOWHERE) continue;
            const double* row = &kept.H[position[c] * old];
            for (size_t e = 0; e < a; ++e)
                H[c * a + e] = position[e] == NOWHERE ? H[e * a + c] : row[position[e]];
            std::copy_n(&kept.border[position[c] * k], k, &border[c * k]);
        }
        kept.H = H;
        kept.border = border;
        if (!kept.diagonal.empty()) adapt_diagonal(a);
        kept.places.resize(a);
        for (size_t c = 0; c < a; ++c) {
            kept.places[c] = place(active[c]);
            H[c * a + c] += M.A.l2[active[c]];
        }
    }

    // Rows and columns are scaled so that H has the diagonal that is known, which leaves it positive semidefinite.
    void adapt_diagonal(size_t a) {
        std::vector<double> scale(a);
        for (size_t c = 0; c < a; ++c) {
            const double h = H[c * a + c];
            scale[c] = h > 0.0 ? std::sqrt(kept.diagonal[active[c]] / h) : 0.0;
        }
        for (size_t c = 0; c < a; ++c) {
            for (size_t e = 0; e < a; ++e) H[c * a + e] *= scale[c] * scale[e];
            for (size_t l = 0; l < k; ++l) border[c * k + l] *= scale[c];
            H[c * a + c] = kept.diagonal[active[c]];
        }
    }

    // Whole rows of H and of `border`.
    void add_rows(size_t a, const std::vector<size_t>& column, const std::vector<size_t>& rows) {
        const bool all = rows.size() == a;
        std::vector<double> weight(n), block;
        std::vector<size_t> left(rows.size());
        for (size_t r = 0; r < rows.size(); ++r) left[r] = column[rows[r]];
        const auto klass = [&](size_t c) { return static_cast<size_t>(M.A.klass[active[c]]); };
        const auto end_of = [&](size_t c, size_t l) {
            while (c < a && klass(c) == l) ++c;
            return c;
        };
        for (size_t l = 0, begin = 0, end; l < k; ++l, begin = end) {
            end = begin;
            while (end < rows.size() && klass(rows[end]) == l) ++end;
            for (size_t other = 0, from = 0, to; other < k; ++other, from = to) {
                to = end_of(from, other);
                if ((M.gaussian && other != l) || (all && other < l)) continue;
                curvature_between(l, other, weight);
                block.assign((end - begin) * (to - from), 0.0);
                M.X.cross({left.data() + begin, end - begin}, {column.data() + from, to - from}, all && other == l,
                          weight.data(), block.data(), to - from);
                for (size_t r = begin; r < end; ++r)
                    std::copy_n(block.data() + (r - begin) * (to - from), to - from, H.data() + rows[r] * a + from);
                if (!M.D.intercept) continue;
                for (size_t r = begin; r < end; ++r) border[rows[r] * k + other] = M.X.dot(left[r], weight.data());
                for (size_t e = from; e < to && all && other != l; ++e)
                    border[e * k + l] = M.X.dot(column[e], weight.data());
            }
        }
        for (size_t c = 0; c < a && all; ++c)
            for (size_t e = 0; e < c; ++e) H[c * a + e] = H[e * a + c];
    }

    // Second derivatives of the loss in the scores of two classes, at the means of the Hessian that is kept.
    void curvature_between(size_t l, size_t other, std::vector<double>& weight) const {
        if (other == l) {
            std::copy_n(&M.q[l * n], n, weight.data());
            return;
        }
        const double *p = &kept.P[l * n], *po = &kept.P[other * n];
        for (size_t i = 0; i < n; ++i) weight[i] = -M.D.s[i] * p[i] * po[i];
    }

    // The BFGS update of the Hessian, intercepts included: H += v v^T / s.v - (H s)(H s)^T / s.H s  for the move s and
    // the change v of the gradient. Moves of coordinates that are not active now say nothing of the others.
    void correct(size_t a, const Secant& secant) {
        const size_t b = M.D.intercept ? k : 0, w = M.A.size;
        std::vector<double> s(a + b), v(a + b), Hs(a + b, 0.0);
        double inside = 0.0, all = 0.0;
        for (size_t c = 0; c < a + b; ++c) {
            const size_t i = c < a ? active[c] : w + c - a;
            s[c] = secant.move[i];
            v[c] = secant.change[i];
            inside += s[c] * s[c];
        }
        for (const double move : secant.move) all += move * move;
        if (inside < all) return;
        for (size_t c = 0; c < a; ++c) {
            Hs[c] = dot(&H[c * a], s.data(), a) + short_dot(border.data() + c * k, s.data() + a, b);
            for (size_t l = 0; l < b; ++l) Hs[a + l] += border[c * k + l] * s[c];
        }
        for (size_t l = 0; l < b; ++l) Hs[a + l] += short_dot(&corner[l * k], &s[a], b);
        const double sv = dot(s.data(), v.data(), a + b), sHs = dot(s.data(), Hs.data(), a + b);
        if (!(sv > FLAT * sHs) || !(sHs > 0.0)) return;
        for (size_t c = 0; c < a; ++c) {
            add(&H[c * a], v.data(), 0.0, v[c] / sv, a);
            add(&H[c * a], Hs.data(), 0.0, -Hs[c] / sHs, a);
            for (size_t l = 0; l < b; ++l) border[c * k + l] += v[c] * v[a + l] / sv - Hs[c] * Hs[a + l] / sHs;
        }
        for (size_t l = 0; l < b; ++l)
            for (size_t o = 0; o < b; ++o)
                corner[l * k + o] += v[a + l] * v[a + o] / sv - Hs[a + l] * Hs[a + o] / sHs;
    }

    // The model with its intercepts at their best: the Schur complement of their block.
    void eliminate_intercepts(size_t a) {
        M.factor_intercepts(corner);
        reduced = border;  // L^-1 of each row
        for (size_t c = 0; c < a; ++c) solve_lower(corner.data(), k, &reduced[c * k]);
        std::vector<double> target(M.gb);
        solve_lower(corner.data(), k, target.data());
        for (size_t c = 0; c < a; ++c) {
            slope[c] -= short_dot(&reduced[c * k], target.data(), k);
            for (size_t e = 0; e < a; ++e) H[c * a + e] -= short_dot(&reduced[c * k], &reduced[e * k], k);
        }
    }

    void restore_intercepts(size_t a) {
        for (size_t l = 0; l < k; ++l) M.db[l] = -M.gb[l];
        for (size_t c = 0; c < a; ++c)
            for (size_t l = 0; l < k; ++l) M.db[l] -= border[c * k + l] * M.d[active[c]];
        solve_factor(corner.data(), k, M.db.data());
    }
};

}  // namespace smaller
