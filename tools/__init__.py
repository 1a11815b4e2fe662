"""Programs for people who change this repository; not part of the package."""
