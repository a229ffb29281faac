"""The user's own settings of JAX stay as they are."""

import jax
import pytest

from deepnoise.inference.runtime import numerics

DIRECTORY, LEAST = "jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs"


@pytest.fixture
def no_place():
    """As for a user who has not chosen where compiled programs are kept."""
    before = jax.config.values[DIRECTORY]
    jax.config.update(DIRECTORY, None)
    yield
    jax.config.update(DIRECTORY, before)


def settings():
    return [jax.config.values[name] for name in (DIRECTORY, LEAST, "jax_enable_x64")]


def test_settings_are_ours_inside_and_the_users_outside(no_place, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = settings()
    with numerics():
        assert jax.config.values[DIRECTORY] == str(tmp_path / "deepnoise" / "jax")
        with numerics():
            pass
        assert jax.config.values[DIRECTORY] is not None
    assert settings() == before
    with pytest.raises(KeyError), numerics():
        raise KeyError
    assert settings() == before


def test_a_place_that_the_user_chose_is_used(no_place, tmp_path):
    jax.config.update(DIRECTORY, str(tmp_path))
    with numerics():
        assert jax.config.values[DIRECTORY] == str(tmp_path)
    assert jax.config.values[DIRECTORY] == str(tmp_path)
