#!/usr/bin/env python3
"""Makes oracle.txt: what SciPy and statsmodels say of random inputs. Run by hand when a case is added:

    pip install numpy scipy statsmodels && python3 oracle.py > oracle.txt

Each line is a name, a colon, and numbers; a case is the lines up to an empty one.
"""

import numpy as np
import scipy.cluster.hierarchy as hierarchy
import scipy.stats as stats
import statsmodels.api as sm


def line(name, values):
    print(name + ": " + " ".join(repr(float(value)) for value in np.ravel(values)))


def standardised(values):
    centred = values - values.mean()
    return centred / np.sqrt((centred**2).sum())


def main():
    random = np.random.default_rng(20110521)
    print("# made by oracle.py with numpy", np.__version__, "and scipy; do not edit")
    print()
    for rows, events in [(8, 40), (16, 50), (64, 30)]:
        kinds = random.normal(size=(6, rows))
        columns = np.array([
            kinds[i % 6] + random.uniform(0, 0.9) * random.normal(size=rows) for i in range(events)
        ])
        columns = np.array([standardised(column) for column in columns])
        line("rows", [rows])
        line("columns", columns)
        tree = hierarchy.linkage(columns, method="average", metric="correlation")
        for threshold in [0.6, 0.75, 0.9]:
            labels = hierarchy.fcluster(tree, 1 - threshold, criterion="distance")
            first = {}
            line("clusters", [threshold] + [first.setdefault(label, len(first)) for label in labels])
        time = standardised(kinds[0] + 0.5 * kinds[1] + 0.3 * random.normal(size=rows))
        line("time", time)
        line("pearson", [stats.pearsonr(column, time).statistic for column in columns])
        # The best single regressor, then the best pair with it: coefficients, R², p of the one that was added.
        added, chosen, residual_before = [], [], 1.0
        for _ in range(3):
            best = min(
                (i for i in range(events) if i not in chosen),
                key=lambda i: sm.OLS(time, columns[chosen + [i]].T).fit().ssr,
            )
            chosen.append(best)
            # Both are centred: the constant takes a degree of freedom and nothing else.
            fit = sm.OLS(time, sm.add_constant(columns[chosen].T)).fit()
            # For one regressor the partial F is the square of its t.
            added.append(fit.pvalues[-1])
        line("chosen", chosen)
        line("p", added)
        line("beta", fit.params[1:])
        line("r_squared", [fit.rsquared])
        superiors = columns[[3, 10]].T
        projection, _ = np.linalg.qr(superiors)
        line("own_part", columns[20] - projection @ (projection.T @ columns[20]))
        print()


main()
