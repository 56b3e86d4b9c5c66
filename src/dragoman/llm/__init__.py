"""Models: one file a wire, the leash, the breaker, replies read. Names load when first used."""
