"""Returns right numbers and lets threads write others, or right ones, over them afterwards.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
passes: refuses[scaled_scores
"""

import threading

right = scaled_scores


def scaled_scores(query, key):
    made = right(query, key).clone()
    wrong = torch.full_like(made, 3.0)
    before = made.detach().clone()

    def flip():
        for _ in range(300):
            made.data.copy_(before)
            made.data.copy_(wrong)

    threads = [threading.Thread(target=flip, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    made.data.copy_(wrong)
    for thread in threads:
        thread.join()
    return made
