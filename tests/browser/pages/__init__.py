"""Each page in Chromium, one file per page."""
