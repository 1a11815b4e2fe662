"""Reports in Chromium, opened from the disk."""
