#!/usr/bin/env python3
"""Makes oracle.txt: what scikit-learn, SciPy and NumPy say of random and of degenerate tables. Run by hand when a case is added:

    pip install numpy scipy scikit-learn && python3 oracle.py > oracle.txt

Each line is a name, a colon, and numbers; a case is the lines up to an empty one.
"""

import warnings

import numpy as np
import scipy
import scipy.cluster.hierarchy as hierarchy
import scipy.spatial.distance as distance
import sklearn
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import StandardScaler

warnings.filterwarnings("ignore")


def line(name, values):
    print(name + ": " + " ".join(repr(float(value)) for value in np.ravel(values)))


def components(data, centred, scaled):
    """Variances, shares, weights and scores; of those that have any variance."""
    if centred:
        if scaled:
            data = StandardScaler().fit_transform(data)
        model = PCA(svd_solver="full").fit(data)
        values, weights = model.singular_values_, model.components_
        variances, shares = model.explained_variance_, model.explained_variance_ratio_
        scores = model.transform(data)
    else:
        if scaled:
            root = np.sqrt((data**2).mean(axis=0))
            data = data / np.where(root > 0, root, 1)
        _, values, weights = np.linalg.svd(data, full_matrices=False)
        variances, shares = values**2 / len(data), values**2 / (values**2).sum()
        scores = data @ weights.T
    rank = int((values > values.max(initial=0) * max(data.shape) * np.finfo(float).eps).sum())
    # The first of those that are as large as the largest but for rounding.
    leads = [np.argmax(abs(row) >= abs(row).max() * (1 - 1e-9)) for row in weights[:rank]]
    signs = np.array([np.sign(row[lead]) for row, lead in zip(weights, leads)])
    return variances[:rank], shares[:rank], (weights[:rank].T * signs).T, scores[:, :rank] * signs


def case(data, tree=True):
    line("rows", [len(data)])
    line("data", data)
    for centred in [True, False]:
        for scaled in [False, True]:
            variances, shares, weights, scores = components(data, centred, scaled)
            line("options", [centred, scaled])
            line("variances", variances)
            line("shares", shares)
            line("weights", weights)
            line("scores", scores)
            kept = min(int((np.cumsum(shares) < 0.9 - 1e-12).sum()) + 1, len(shares))
            line("kept", [kept])
            if not tree:
                continue
            points = scores[:, :kept]
            pairs = distance.pdist(points)
            linkage = hierarchy.linkage(points, method="average")
            correlation, cophenetic = hierarchy.cophenet(linkage, pairs)
            line("heights", linkage[:, 2])
            line("cophenetic", cophenetic)
            line("correlation", [correlation])
            for count in [2, 4]:
                labels = hierarchy.fcluster(linkage, count, criterion="maxclust")
                if len(set(labels)) == count:
                    exact = distance.squareform(pairs)
                    line("silhouette", [count, silhouette_score(exact, labels, metric="precomputed")])
    print()


def main():
    random = np.random.default_rng(20111106)
    print("# made by oracle.py with numpy", np.__version__, "scipy", scipy.__version__,
          "scikit-learn", sklearn.__version__, "; do not edit")
    print()
    # Shares that add up to one, as stacks do: the last component has no variance if centred.
    case(random.dirichlet(np.array([4, 3, 2, 1, 0.5, 0.3]), size=24))
    # Columns of very different size.
    case(random.normal(size=(15, 5)) * np.array([1e6, 1e3, 1, 1e-2, 1e-3]) + 7)
    # Fewer rows than columns.
    case(random.normal(size=(6, 11)))
    # Constant columns, one of them zero, one that is no sum of powers of two.
    data = random.uniform(size=(12, 6))
    data[:, 1], data[:, 4] = 0, 0.1
    case(data)
    # Duplicates: of rows, and columns in proportion to others.
    data = random.normal(size=(5, 4))[[0, 1, 2, 3, 4, 0, 1, 0, 3]]
    data = np.column_stack([data, 2 * data[:, 0], -data[:, 3]])
    case(data)
    # Two rows; one column.
    case(random.normal(size=(2, 3)), tree=False)
    case(random.normal(size=(9, 1)))


main()
