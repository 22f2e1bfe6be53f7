"""TL7: rollout, environments, replay."""
