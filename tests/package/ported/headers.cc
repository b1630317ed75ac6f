// Only there to precompile headers for.
