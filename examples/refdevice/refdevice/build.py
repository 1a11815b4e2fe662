"""`python -m refdevice.build`: compiles the extension ahead of time and prints where it is."""

import refdevice

if __name__ == "__main__":
    print(refdevice.extension.build_directory())
