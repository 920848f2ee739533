/** Bounds of the sidecars here, small so that short scripts meet them. */
export const MAX_HEADER_SIZE = 4096
export const MAX_BODY = 24 * 1024
