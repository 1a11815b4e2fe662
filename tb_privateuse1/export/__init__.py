"""Writers of traces, one file per format."""
