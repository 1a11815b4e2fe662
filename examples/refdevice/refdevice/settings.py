"""How the device behaves: `configure(speed=2.0)`, or REFDEVICE_SPEED=2.0 in the environment."""

from collections.abc import Mapping

from . import _C

Value = int | float | str
NAMES = tuple(name for name in vars(_C.Config) if not name.startswith("_"))


def config() -> dict[str, Value]:
    """Give all settings by name; times in ns. README.md says what each means."""
    current = _C.config()
    return {name: getattr(current, name) for name in NAMES}


def configure(**settings: Value) -> None:
    """Change the settings that are named, from the next launch on, and restart the noise."""
    next_config = _C.config()
    for name, value in settings.items():
        if name not in NAMES:
            raise TypeError(f"refdevice has no setting {name!r}; it has {', '.join(NAMES)}")
        setattr(next_config, name, value)
    _C.set_config(next_config)


def configure_from_environment(environment: Mapping[str, str]) -> None:
    """Take REFDEVICE_<NAME>, upper case, for each setting."""
    current = config()
    configure(
        **{
            name: type(current[name])(environment[f"REFDEVICE_{name.upper()}"])
            for name in NAMES
            if f"REFDEVICE_{name.upper()}" in environment
        }
    )
