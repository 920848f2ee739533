/**
 * How long is waited for what has to come, in milliseconds. How soon it comes decides nothing: a machine that
 * is slow or busy passes as well.
 */
export const PATIENCE = 60_000
