"""Random numbers: which number folded into which key belongs to what.

A fit has key(seed).  Chain c has fold_in(key(seed), c), and its sweep t fold_in(of the chain, t).
Other uses count from the other end, so that they meet no chain and no sweep.
"""

LAST_NUMBER = 2**32 - 1

# Of a fit's key.
PREDICTION, FOLDS, INPUT_LAWS, ADAPTATION = (LAST_NUMBER - n for n in range(4))
# Of a chain's key: its start, its first latents, its first completion of what was not seen.
START, LATENTS, COMPLETION = (LAST_NUMBER - n for n in range(3))
# Of a sweep's key: what is drawn of missing inputs and of outcomes not seen exactly.
UNSEEN = LAST_NUMBER
# Of the key of a sweep's variances: the learnt scales.
SCALES = 1
# Of the key of the folds of gradient starts: which rows of a large table are used.
CHOICE = LAST_NUMBER
# Of the prediction's key: missing inputs; noise of the last layer and outcomes of classes.
INPUTS, LAST, OUTCOME = (LAST_NUMBER - n for n in range(3))
