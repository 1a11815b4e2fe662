"""What lies in a logdir, by names, sizes and the first bytes of files; nothing is parsed."""
