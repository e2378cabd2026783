"""Scaled dot-product attention, for heads that are split already: Vaswani et al., 2017, equation 1."""


def scaled_dot_product_attention(q, k, v, mask=None):
    """From queries q (B, H, Lq, d), keys k and values v (B, H, Lk, d) to (B, H, Lq, d).

    `mask` is bool or 0/1, broadcasts to (B, H, Lq, Lk), and True / 1 means: may attend.
    """
    d = q.size(-1)
    scores = q @ k.transpose(-2, -1) / d**0.5  # (B, H, Lq, Lk)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    attn = scores.softmax(dim=-1)
    if mask is not None:
        # A query that may attend to nothing has a row of -inf, which softmax turns into nan: it takes nothing.
        attn = attn.masked_fill(scores.isneginf().all(dim=-1, keepdim=True), 0.0)
        # A key that no query sees may hold anything, padding does, and 0 * nan is nan.
        unseen = scores.isneginf().all(dim=-2).unsqueeze(-1)  # (B, H, Lk, 1)
        v = v.masked_fill(unseen, 0.0)
    return attn @ v  # (B, H, Lq, d)
