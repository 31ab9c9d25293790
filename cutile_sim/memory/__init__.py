"""Simulated GPU memory: a virtual address space over the caller's own arrays. Knows bytes, not operations."""
