# Keeps one problem in memory and answers requests on standard input: "tol lam lam ..." with the
# processor seconds (to 1 ms) and the wall-clock seconds that glmnet took.
# Coefficients go to <folder>/coef as float64, (features x columns) for each lam in turn.
suppressMessages({library(Matrix); library(glmnet)})
glmnet.control(fdev = 0, devmax = 1)   # else the path may end early

folder <- commandArgs(trailingOnly = TRUE)[1]
read <- function(name, what) {
  file <- file.path(folder, name)
  readBin(file, what, n = file.size(file) / if (what == "integer") 4 else 8)
}
shape <- read("shape", "integer")
y <- read("y", "integer")
x <- if (file.exists(file.path(folder, "indptr"))) {
  new("dgCMatrix", Dim = shape[1:2], p = read("indptr", "integer"), i = read("indices", "integer"), x = read("data", "double"))
} else {
  matrix(read("data", "double"), shape[1], shape[2])
}
family <- if (shape[3] == 2) "binomial" else "multinomial"
type <- if (shape[4] == 1) "grouped" else "ungrouped"

requests <- file("stdin", "r")
cat("ready\n")
while (length(line <- readLines(requests, 1)) == 1) {
  numbers <- as.numeric(strsplit(line, " ")[[1]])
  start <- Sys.time()
  busy <- sum(proc.time()[1:2])
  fit <- glmnet(x, y, family = family, type.multinomial = type, lambda = numbers[-1] / nrow(x), standardize = FALSE, intercept = FALSE,
                thresh = numbers[1], maxit = 1e7)
  busy <- sum(proc.time()[1:2]) - busy
  wall <- as.numeric(Sys.time() - start, units = "secs")
  betas <- if (is.list(fit$beta)) fit$beta else list(fit$beta)
  coef <- file(file.path(folder, "coef"), "wb")
  for (l in seq_along(fit$lambda)) for (beta in betas) writeBin(as.numeric(beta[, l]), coef)
  close(coef)
  cat(format(c(busy, wall), digits = 9), "\n")
}
