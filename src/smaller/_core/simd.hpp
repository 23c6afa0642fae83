// The loops over samples in which a fit spends its time, for columns of 32- and 64-bit numbers. Each is compiled for
// several instruction sets, and the best for the processor is chosen when the module is loaded.
#pragma once
#include <cstddef>

namespace smaller {

using std::size_t;

#define SMALLER_COLUMN_LOOPS(T)                                                                                    \
    /* sum x v */                                                                                                  \
    double dot(const T* x, const double* v, size_t n);                                                             \
    /* sum q (x - c)^2 */                                                                                          \
    double spread(const T* x, double c, const double* q, size_t n);                                                \
    /* f += d (x - c) */                                                                                           \
    void add(double* f, const T* x, double c, double d, size_t n);                                                 \
    /* v += d q (x - c) */                                                                                         \
    void add_weighted(double* v, const double* q, const T* x, double c, double d, size_t n);                       \
    /* v += x (d q - p m) */                                                                                       \
    void add_turned(double* v, const double* q, const double* p, const double* m, const T* x, double d, size_t n); \
    /* e *= exp(d (x - c)); the changes of e are added to total */                                                 \
    void tilt(double* e, double* total, const T* x, double c, double d, size_t n);                                 \
    /* sum s (log(q + p exp(+-z)) -+ y z), z = d (x - c): change of a softmax's loss when one score moves by +-z */ \
    void moved(const T* x, double c, const double* p, const double* q, const double* y, const double* s, double d, \
               size_t n, double* up, double* down);

SMALLER_COLUMN_LOOPS(float)
SMALLER_COLUMN_LOOPS(double)

// f += sum_c r_c x_c of four vectors.
void add_four(double* f, const float* const* x, const double* r, size_t n);
void add_four(double* f, const double* const* x, const double* r, size_t n);

constexpr size_t LINE = 64;  // bytes of a line of the cache

// sum v.
double sum(const double* v, size_t n);
// Products of four columns with one vector, which is read once.
void dot_four(const double* const* x, const double* v, size_t n, double* products);
// C[c * ldc + e] += a_c . b_e for the na columns of a and the nb columns of b, lda and ldb apart.
void products(const double* a, size_t lda, size_t na, const double* b, size_t ldb, size_t nb, size_t n, double* C,
              size_t ldc);
// G (d, k) in C order = X^T R, X (n, d) and R (n, k) in Fortran order.
void pull(const double* X, const double* R, size_t n, size_t d, size_t k, double* G);
void pull(const float* X, const double* R, size_t n, size_t d, size_t k, double* G);
// total_j += sum_i omega_i (x_ij - center_j)^2, X (n, d) in C order.
void squares(const double* X, const double* omega, const double* center, size_t n, size_t d, double* total);
// Squared distances of the rows of X (n, p) and of Z, given as its transpose (p, m): D (n, m), all in C order.
void distances(const double* X, const double* Zt, size_t n, size_t m, size_t p, double* D);
// exp(-gamma d) in the place of each of count numbers d >= 0.
void decay(double* D, size_t count, double gamma);
// z = x q.
void multiply(double* z, const double* x, const double* q, size_t n);
void multiply(double* z, const float* x, const double* q, size_t n);

// z = K exp(-rate (x - c)^2): a column of an RBF kernel after the gate of one input has moved.
void regated(double* z, const double* K, const double* x, double c, double rate, size_t n);
// f += w z with that z.
void add_regated(double* f, const double* K, const double* x, double c, double rate, double w, size_t n);
// S += change (x - c)^2, K = exp(-gamma S).
void regate(double* S, double* K, const double* x, double c, double change, double gamma, size_t n);

// The likelihood of the targets given the scores F (n, k), which are stored class by class.
enum Family {
    SYMMETRIC,  // multinomial, a column for each class
    REFERENCE,  // multinomial, with one further class that has score 0 and no column
    GAUSSIAN    // k independent columns with unit noise
};

// Fitted means P of the scores F, residuals U = P - Y (unless null) and the weighted negative log-likelihood, in nats.
// Indicators Y are 0 or 1: the residual of a sample's own class is the sum of the other probabilities, without
// cancellation.
double means(const double* F, const double* Y, const double* s, size_t n, size_t k, Family family, double* P,
             double* U = nullptr);

// sum_i s_i sum_c Q_ic log Q_ic, Q = Y + shrink U: the conjugate of a softmax's loss, U the residuals of its means.
double negentropy(const double* U, const double* Y, const double* s, double shrink, size_t n, size_t k, bool reference);

// Parts of a certificate that depend on the `count` weights W and the gradient G of the loss in them.
struct Verdict {
    double penalty = 0.0;   // sum l1 |w| + l2 w^2 / 2
    double shrink = 1.0;    // the largest rho <= 1 with rho |g| <= l1 wherever there is a penalty
    double unridged = 1.0;  // the same where l2 is 0
};
// residuals: distance of -(g + l2 w) to the subdifferential of l1 |w|, relative to scale.
Verdict judge(const double* W, const double* G, const double* l1, const double* l2, const double* scale, size_t count,
              double* residuals);

// exp(F - row maximum) and its row totals: the state of the component-wise solver.
void exponentials(const double* F, size_t n, size_t k, bool reference, double* e, double* total);

}  // namespace smaller
