# Times cv.glmnet on one problem: Rscript cross_validation.R FOLDER n p thresh. Prints the processor seconds; the weights
# at each strength, intercept first, go to FOLDER/W, one class after the other.
arguments <- commandArgs(trailingOnly = TRUE)
suppressMessages(library(glmnet))
glmnet.control(fdev = 0, devmax = 1)   # else the path may end early
folder <- arguments[1]
n <- as.integer(arguments[2])
p <- as.integer(arguments[3])
read <- function(name, what, size) readBin(file.path(folder, name), what, size)
x <- matrix(read("X", "double", n * p), n, p)
y <- factor(read("y", "integer", n))
folds <- read("folds", "integer", n) + 1L
lams <- read("lams", "double", 1e6)
start <- proc.time()
found <- cv.glmnet(x, y, family = if (nlevels(y) == 2) "binomial" else "multinomial", lambda = lams / n, foldid = folds,
                   standardize = FALSE, thresh = as.numeric(arguments[4]), maxit = 1e7)
seconds <- sum((proc.time() - start)[1:2])
coefs <- coef(found$glmnet.fit, s = lams / n)
if (!is.list(coefs)) coefs <- list(coefs)
out <- file(file.path(folder, "W"), "wb")
for (each in coefs) writeBin(as.vector(as.matrix(each)), out)
close(out)
cat(seconds, "\n")
