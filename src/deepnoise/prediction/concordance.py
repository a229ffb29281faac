"""Do predicted times come in the order in which events happened?"""

import numpy as np


def concordance(predicted: np.ndarray, time: np.ndarray, event: np.ndarray) -> float:
    """Harrell's C: share of comparable pairs in the right order, ties of predictions half.

    A pair is comparable if the earlier time is that of an event (of equal times, one of them).
    """
    predicted, time, event = (np.ravel(a) for a in (predicted, time, event))
    right = pairs = 0.0
    for i in np.flatnonzero(event):
        later = (time > time[i]) | ((time == time[i]) & ~event.astype(bool))
        pairs += later.sum()
        right += (predicted[later] > predicted[i]).sum()
        right += (predicted[later] == predicted[i]).sum() / 2
    if not pairs:
        raise ValueError("y: no two times can be compared; concordance needs more events")
    return float(right / pairs)
