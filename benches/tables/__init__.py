"""The tables of docs/benchmarks.md, a module a subject: measured lines in, Markdown out."""
