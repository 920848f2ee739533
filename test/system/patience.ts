/**
 * The longest wait for an expected event, in milliseconds. Tests do not depend on speed: they pass
 * on slow or busy machines as well.
 */
export const PATIENCE = 60_000
