"""What `benchmarks/peers.py` is made of: workloads, peers, a fresh process for each row, tables."""
