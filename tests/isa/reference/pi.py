"""Digits of pi."""


def pi_times(one):
    """pi * one, cut off; some last digits are wrong. Machin's formula: pi = 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctangent(n):  # of 1 / n
        total, term, k = 0, one // n, 0
        while term:
            total += (-term if k & 1 else term) // (2 * k + 1)
            term //= n * n
            k += 1
        return total

    return 16 * arctangent(5) - 4 * arctangent(239)
