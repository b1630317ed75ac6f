// Exists only so that headers can be precompiled for it.
