"""What every room uses: samples, uids, paths, locks, devices, progress."""
