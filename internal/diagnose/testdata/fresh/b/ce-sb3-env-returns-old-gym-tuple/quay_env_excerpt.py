"""QuayCrane environment. Ported to gymnasium 2023-12."""
import gymnasium as gym

class QuayCraneEnv(gym.Env):
    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.sim.reset()
        return self._obs(), {}

    def step(self, action):
        self.sim.apply(action)
        reward = self.sim.reward()
        done = self.sim.t >= self.horizon or self.sim.ship_full()
        return self._obs(), reward, done, {"moves": self.sim.moves}
