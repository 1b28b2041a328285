"""The harness: pools, scores, selection, subsets, engines, results, report, and the demo."""
