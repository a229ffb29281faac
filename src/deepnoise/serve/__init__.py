"""A small HTTP server: rows in as JSON, quantiles, exceedance and densities out."""
