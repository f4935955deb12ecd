# SPDX-License-Identifier: BSD-3-Clause
"""The same fit on the workers of a cluster; here, two processes of this machine."""

import dask.array as da

from topicfold import PLSA
from topicfold.corpus import load_docs
from topicfold.engine.dask import local_client


def main() -> None:
    """Fit on Dask; a script that starts processes needs this guard."""
    counts = load_docs().counts
    blocks = [counts[start : start + 1000] for start in range(0, counts.shape[0], 1000)]
    with local_client(2):
        X = da.concatenate(
            [
                da.from_array(block, chunks=block.shape, asarray=False)
                for block in blocks
            ]
        )
        model = PLSA(20, random_state=0, max_iter=20).fit(X)
    print("topics:", model.components_.shape)


if __name__ == "__main__":
    main()
