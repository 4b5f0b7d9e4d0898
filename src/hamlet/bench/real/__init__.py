"""Mixed workloads as analysts write them, against a loop written by hand for each query."""
