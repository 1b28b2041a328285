"""The report's page: one HTML file that opens from disk and loads nothing."""
