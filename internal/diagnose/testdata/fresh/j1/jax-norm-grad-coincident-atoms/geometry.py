"""Pairwise geometry."""
import jax.numpy as jnp


def displacements(pos):
    return pos[:, :, None, :] - pos[:, None, :, :]


def edge_mask(mask):
    m = mask[:, :, None] * mask[:, None, :]
    eye = jnp.eye(mask.shape[-1], dtype=m.dtype)
    return m * (1.0 - eye)


def cutoff(d, r_max):
    x = jnp.clip(d / r_max, 0.0, 1.0)
    return 0.5 * (jnp.cos(jnp.pi * x) + 1.0)


def rbf(d, centers, gamma):
    return jnp.exp(-gamma * (d[..., None] - centers) ** 2)


def wrap(delta, box):
    return delta - box * jnp.round(delta / box)


def pair_distance(pos, mask, box=None):
    """[B, N, N] distances, diagonal replaced by 1 before the root."""
    delta = displacements(pos)
    if box is not None:
        delta = wrap(delta, box)
    n = pos.shape[1]
    delta = delta + jnp.eye(n)[None, :, :, None]
    # padded atoms sit at distinct positions, so only real duplicates can be 0
    d = jnp.linalg.norm(delta, axis=-1)
    return d * edge_mask(mask)
