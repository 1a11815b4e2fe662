"""The timeline in Chromium: what is drawn, moved, picked and searched."""
