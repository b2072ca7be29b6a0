"""The matrix C diag(p) C^T on independent rows, in the forms that pay."""
