"""What all pages share, in Chromium: state, tables, language, keyboard, accessibility."""
