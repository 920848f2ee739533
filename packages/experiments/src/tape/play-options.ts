export const OFF_TAPE = ['error', 'last'] as const
export const MATCHES = ['arguments', 'tool'] as const
export const PACES = ['none', 'real'] as const
